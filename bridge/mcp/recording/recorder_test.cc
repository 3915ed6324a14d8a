#include "bridge/mcp/recording/recorder.h"

#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bridge/jsonrpc/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/text_file.h"

namespace bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::tests::ReadFile;

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest()
      : directory_(absl::StrCat(
            ::testing::TempDir(), "/",
            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(directory_);
    options_.directory = absl::StrCat(directory_, "/a/b");
  }
  ~RecorderTest() override {
    ::unsetenv("TMPDIR");
    std::filesystem::remove_all(directory_);
  }

  // The lines of the recording, without the header.
  static std::vector<OrderedJson> Events(const std::string& path) {
    std::vector<OrderedJson> events;
    for (const auto& line :
         absl::StrSplit(ReadFile(path), '\n', absl::SkipEmpty())) {
      events.push_back(ParseOrderedJson(line).value());
    }
    events.erase(events.begin());
    return events;
  }
  // Waits until the recording has ended by itself.
  void AwaitEnd() {
    while (recorder_.active().has_value()) {
      std::this_thread::yield();
    }
  }
  // Lets 20 ms pass.
  static void Spin() {
    const auto end =
        std::chrono::system_clock::now() + std::chrono::milliseconds(21);
    while (std::chrono::system_clock::now() < end) {
      std::this_thread::yield();
    }
  }

  static OrderedJson MetaOf(const Recording& recording) {
    const std::string path = recording.path;
    return ParseOrderedJson(ReadFile(absl::StrCat(
                                path.substr(0, path.rfind('.')), ".meta.json")))
        .value();
  }

  size_t FileCount() const { return FilesIn(options_.directory); }
  static size_t FilesIn(const std::string& directory) {
    return std::distance(std::filesystem::directory_iterator(directory),
                         std::filesystem::directory_iterator());
  }
  // Lets recordings be written in a directory of the test, and returns it.
  std::string UseTemporaryDirectory() {
    const std::string temporary = directory_ + "/temporary";
    std::filesystem::create_directories(temporary);
    ::setenv("TMPDIR", temporary.c_str(), 1);
    return temporary;
  }

  const std::string directory_;
  RecordingOptions options_;
  Recorder recorder_{80, 24};
};

TEST_F(RecorderTest, WritesHeaderEventsAndMeta) {
  const Recording recording = recorder_.Start(options_).value();
  recorder_.OnOutput("t", 0, "a\x1b[31m\xe6\xbc");
  recorder_.OnOutput("t", 0, "\xa2\r\n");
  recorder_.OnResize(60, 12);
  const RecordingResult result = recorder_.Stop(recording.id).value();
  EXPECT_TRUE(result.saved);
  EXPECT_EQ(result.reason, StopReason::kExplicit);
  const std::string cast = ReadFile(recording.path);
  EXPECT_EQ(cast.size(), result.bytes);
  EXPECT_THAT(cast, HasSubstr("{\"version\":2,\"width\":80,\"height\":24,"
                              "\"timestamp\":"));
  EXPECT_THAT(cast, HasSubstr(",\"env\":{\"TERM\":\"xterm-256color\"}}\n["));
  const std::vector<OrderedJson> events = Events(recording.path);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0][2], "a\x1b[31m");
  EXPECT_EQ(events[1][2], "\xe6\xbc\xa2\r\n");
  EXPECT_EQ(events[2][1], "r");
  EXPECT_EQ(events[2][2], "60x12");
  const std::string meta =
      recording.path.substr(0, recording.path.size() - 5) + ".meta.json";
  EXPECT_THAT(ReadFile(meta), HasSubstr("{\n  \"exitCode\": 0,\n"));
  EXPECT_THAT(ReadFile(meta), HasSubstr("\"stopReason\": \"explicit\"\n}"));
  EXPECT_EQ(MetaOf(recording)["bytesWritten"], result.bytes);
  EXPECT_EQ(MetaOf(recording)["durationMs"], result.duration_ms);
}

TEST_F(RecorderTest, NamesARecordingByItsStart) {
  options_.directory += "/";
  const Recording recording = recorder_.Start(options_).value();
  EXPECT_TRUE(recorder_.Stop(recording.id).ok());
  const int64_t start = MetaOf(recording)["startTime"];
  EXPECT_EQ(recording.path, absl::StrCat(options_.directory, "terminal-", start,
                                         "-", recording.id, ".cast"));
  EXPECT_THAT(ReadFile(recording.path),
              HasSubstr(absl::StrCat("\"timestamp\":", start / 1000, ",")));
}

TEST_F(RecorderTest, BeginsWithTheScreenAndWithWhatCameAfterIt) {
  options_.first = {"t", 90, 30, "<screen>", 10, [](uint64_t offset) {
                      EXPECT_EQ(offset, 10);
                      return "abc";
                    }};
  const Recording recording = recorder_.Start(options_).value();
  recorder_.OnOutput("t", 8, "..abc");
  recorder_.OnOutput("t", 12, "cd");
  recorder_.OnOutput("other", 0, "x");
  recorder_.OnOutput("t", 14, "e");
  EXPECT_TRUE(recorder_.Stop(recording.id).ok());
  EXPECT_THAT(ReadFile(recording.path),
              HasSubstr("\"width\":90,\"height\":30"));
  std::string output;
  for (const OrderedJson& event : Events(recording.path)) {
    output += event[2].get<std::string>();
  }
  EXPECT_EQ(output, "<screen>abcdxe");
}

TEST_F(RecorderTest, RunsOneRecordingAtATime) {
  const Recording recording = recorder_.Start(options_).value();
  EXPECT_EQ(recorder_.Start(options_).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(recorder_.active()->id, recording.id);
  EXPECT_TRUE(recorder_.Stop(recording.id).ok());
  const Recording next = recorder_.Start(options_).value();
  EXPECT_TRUE(recorder_.Stop(next.id).ok());
}

TEST_F(RecorderTest, KnowsAStoppedRecordingNoMore) {
  const Recording recording = recorder_.Start(options_).value();
  EXPECT_TRUE(recorder_.Stop(recording.id).ok());
  EXPECT_EQ(recorder_.Stop(recording.id).status().message(),
            "Recording not found: " + recording.id);
}

TEST_F(RecorderTest, DiscardsARecordingOfFailuresThatWasStopped) {
  options_.only_failures = true;
  const Recording recording = recorder_.Start(options_).value();
  const RecordingResult result = recorder_.Stop(recording.id).value();
  EXPECT_FALSE(result.saved);
  EXPECT_EQ(result.recording.path, "");
  EXPECT_EQ(FileCount(), 0);
}

TEST_F(RecorderTest, DiscardsARecordingOfFailuresWithoutAFailure) {
  const std::string temporary = UseTemporaryDirectory();
  options_.only_failures = true;
  recorder_.Start(options_).value();
  EXPECT_EQ(FilesIn(temporary), 1);
  recorder_.OnEnd(0);
  // It is not known how the shell would have ended.
  recorder_.Start(options_).value();
  recorder_.Finalize();
  EXPECT_EQ(FileCount(), 0);
  EXPECT_EQ(FilesIn(temporary), 0);
}

TEST_F(RecorderTest, KeepsTheRecordingOfAShellThatFailed) {
  options_.only_failures = true;
  const Recording recording = recorder_.Start(options_).value();
  recorder_.OnEnd(3);
  EXPECT_EQ(FileCount(), 2);
  EXPECT_EQ(MetaOf(recording)["exitCode"], 3);
  EXPECT_EQ(MetaOf(recording)["stopReason"], "session_exit");
  EXPECT_EQ(recorder_.Stop(recording.id).status().message(),
            "Recording already finalized: " + recording.id);
}

TEST_F(RecorderTest, StopsByItselfAfterItsLongestDuration) {
  options_.max_duration = 0.01;
  const Recording recording = recorder_.Start(options_).value();
  AwaitEnd();
  EXPECT_EQ(recorder_.Stop(recording.id).status().message(),
            "Recording already finalized: " + recording.id);
  EXPECT_EQ(FileCount(), 2);
  const OrderedJson meta = MetaOf(recording);
  EXPECT_EQ(meta["stopReason"], "max_duration");
  EXPECT_TRUE(meta["exitCode"].is_null());
  EXPECT_GE(meta["durationMs"], 10);
  EXPECT_EQ(meta["endTime"].get<int64_t>() - meta["startTime"].get<int64_t>(),
            meta["durationMs"]);
}

TEST_F(RecorderTest, GoesOnForAsLongAsThereIsOutput) {
  options_.inactivity_timeout = 0.1;
  const Recording recording = recorder_.Start(options_).value();
  Spin();
  recorder_.OnOutput("t", 0, "a");
  AwaitEnd();
  // On a slow machine the output may have come too late.
  if (!Events(recording.path).empty()) {
    EXPECT_GE(MetaOf(recording)["durationMs"], 120);
  }
}

TEST_F(RecorderTest, StopsAtTheLimitThatComesFirst) {
  const struct {
    double duration;
    double inactivity;
    const char* reason;
  } cases[] = {{0.01, 0, "max_duration"},
               {0, 0.01, "inactivity"},
               {0.02, 0.01, "inactivity"},
               {0.01, 0.01, "max_duration"}};
  for (const auto& example : cases) {
    options_.max_duration = example.duration;
    options_.inactivity_timeout = example.inactivity;
    const Recording recording = recorder_.Start(options_).value();
    AwaitEnd();
    EXPECT_EQ(MetaOf(recording)["stopReason"], example.reason);
  }
}

TEST_F(RecorderTest, GoesOnForEverWithoutLimits) {
  for (const double limit : {0.0, 1e300}) {
    options_.max_duration = limit;
    options_.inactivity_timeout = limit;
    const Recording recording = recorder_.Start(options_).value();
    Spin();
    EXPECT_TRUE(recorder_.active().has_value());
    EXPECT_TRUE(recorder_.Stop(recording.id).ok());
  }
}

TEST_F(RecorderTest, ShortensIdleTimesBetweenEvents) {
  options_.idle_time_limit = 0.001;
  const Recording recording = recorder_.Start(options_).value();
  Spin();
  recorder_.OnOutput("t", 0, "a");
  Spin();
  recorder_.OnOutput("t", 1, "b");
  Spin();
  recorder_.OnResize(60, 12);
  EXPECT_TRUE(recorder_.Stop(recording.id).ok());
  const std::vector<OrderedJson> events = Events(recording.path);
  ASSERT_THAT(events, SizeIs(3));
  // The time before the first event is kept as it is.
  const double first = events[0][0];
  EXPECT_GE(first, 0.02);
  EXPECT_GE(events[1][0], first);
  EXPECT_GE(events[2][0], events[1][0]);
  EXPECT_LE(events[1][0].get<double>() - first, 0.0015);
  EXPECT_LE(events[2][0].get<double>() - first, 0.0025);
}

TEST_F(RecorderTest, ShortensTheIdleTimeAfterTheFirstScreen) {
  options_.idle_time_limit = 0.001;
  options_.first = {"t", 90, 30, "<screen>", 5, [](uint64_t) { return ""; }};
  const Recording recording = recorder_.Start(options_).value();
  Spin();
  recorder_.OnOutput("t", 0, "<old>");  // before the screen
  Spin();
  recorder_.OnOutput("t", 5, "a");
  EXPECT_TRUE(recorder_.Stop(recording.id).ok());
  const std::vector<OrderedJson> events = Events(recording.path);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_LE(events[1][0].get<double>(), 0.0015);
}

TEST_F(RecorderTest, KeepsIdleTimesWithoutALimit) {
  options_.idle_time_limit = 0;
  const Recording recording = recorder_.Start(options_).value();
  recorder_.OnOutput("t", 0, "a");
  Spin();
  recorder_.OnOutput("t", 1, "b");
  Spin();
  recorder_.OnOutput("t", 2, "c");
  const RecordingResult result = recorder_.Stop(recording.id).value();
  const std::vector<OrderedJson> events = Events(recording.path);
  EXPECT_GE(events[1][0].get<double>() - events[0][0].get<double>(), 0.02);
  EXPECT_GE(events[2][0].get<double>() - events[1][0].get<double>(), 0.02);
  // No pause counts twice.
  EXPECT_LT(events[2][0].get<double>() * 1000, result.duration_ms + 1);
}

TEST_F(RecorderTest, ChoosesADirectoryByTheEnvironment) {
  options_.directory = "";
  ::setenv("TERMINAL_MCP_RECORD_DIR", (directory_ + "/chosen").c_str(), 1);
  ::setenv("XDG_STATE_HOME", (directory_ + "/state").c_str(), 1);
  ::setenv("HOME", (directory_ + "/home").c_str(), 1);
  const auto path = [this] {
    const Recording recording = recorder_.Start(options_).value();
    EXPECT_TRUE(recorder_.Stop(recording.id).ok());
    return recording.path;
  };
  EXPECT_THAT(path(), StartsWith(directory_ + "/chosen/terminal-"));
  ::unsetenv("TERMINAL_MCP_RECORD_DIR");
  EXPECT_THAT(path(), StartsWith(directory_ +
                                 "/state/terminal-mcp/recordings/terminal-"));
  ::unsetenv("XDG_STATE_HOME");
  EXPECT_THAT(path(), StartsWith(directory_ + "/home/.local/state/"
                                              "terminal-mcp/recordings/"));
}

TEST_F(RecorderTest, MovesTheRecordingToItsPlaceAtTheEnd) {
  // Another file system than that of the recordings, where there is one.
  for (const char* temporary : {"/dev/shm", ""}) {
    ::setenv("TMPDIR", temporary, 1);
    const Recording recording = recorder_.Start(options_).value();
    recorder_.OnOutput("t", 0, "a");
    EXPECT_FALSE(std::filesystem::exists(recording.path));
    const std::string begun =
        absl::StrCat(*temporary == '\0' ? "/tmp" : temporary,
                     "/terminal-mcp-recording-", recording.id, ".cast");
    EXPECT_TRUE(std::filesystem::exists(begun));
    EXPECT_TRUE(recorder_.Stop(recording.id)->saved);
    EXPECT_FALSE(std::filesystem::exists(begun));
    EXPECT_THAT(ReadFile(recording.path), HasSubstr("\"a\"]"));
  }
}

TEST_F(RecorderTest, SaysThatARecordingCouldNotBeSaved) {
  const Recording recording = recorder_.Start(options_).value();
  std::filesystem::remove_all(directory_);
  EXPECT_FALSE(recorder_.Stop(recording.id)->saved);
  EXPECT_FALSE(recorder_.active().has_value());
}

TEST_F(RecorderTest, SaysThatAPartOfARecordingCouldNotBeSaved) {
  UseTemporaryDirectory();
  for (const char* const ending : {".cast", ".meta.json"}) {
    const Recording recording = recorder_.Start(options_).value();
    const std::string& path = recording.path;
    std::filesystem::create_directory(path.substr(0, path.rfind('.')) + ending);
    EXPECT_FALSE(recorder_.Stop(recording.id)->saved) << ending;
  }
}

TEST_F(RecorderTest, SavesTheRecordingThatRunsWhenTheProgramEnds) {
  const Recording recording = recorder_.Start(options_).value();
  recorder_.Finalize();
  EXPECT_EQ(MetaOf(recording)["stopReason"], "server_shutdown");
  EXPECT_TRUE(MetaOf(recording)["exitCode"].is_null());
  EXPECT_EQ(recorder_.Stop(recording.id).status().message(),
            "Recording already finalized: " + recording.id);
}

TEST_F(RecorderTest, SavesTheRecordingWhenItIsDestroyed) {
  std::string path;
  {
    Recorder recorder(80, 24);
    path = recorder.Start(options_)->path;
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(RecorderTest, RefusesADirectoryThatCannotBeMade) {
  options_.directory = "/dev/null/x";
  EXPECT_EQ(recorder_.Start(options_).status().message(),
            "ENOTDIR: not a directory, mkdir '/dev/null/x'");
  options_.directory = "/proc/nothing/x";
  EXPECT_EQ(recorder_.Start(options_).status().message(),
            "ENOENT: no such file or directory, mkdir '/proc/nothing/x'");
  EXPECT_FALSE(recorder_.active().has_value());
}

}  // namespace
}  // namespace bridge
