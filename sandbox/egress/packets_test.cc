#include "sandbox/egress/packets.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corral/egress/v1/egress.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/fd_passing.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"

namespace egress {
namespace {

namespace wire = ::corral::egress::v1;

using ::sandbox::UniqueFd;
using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

ino_t FileOf(const UniqueFd& fd) {
  struct stat status = {};
  EXPECT_EQ(::fstat(fd.get(), &status), 0);
  return status.st_ino;
}

class PacketsTest : public ::testing::Test {
 protected:
  PacketsTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours_.Reset(ends[0]);
    theirs_.Reset(ends[1]);
  }

  // Sends a packet that SendMessage() would not send.
  void SendRaw(const std::string& bytes) {
    ASSERT_EQ(::send(ours_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  absl::Status Receive() {
    return ReceiveMessage(theirs_.get(), &message_).status();
  }

  UniqueFd ours_;
  UniqueFd theirs_;
  wire::CredentialRequest message_;
};

TEST_F(PacketsTest, PassesAnyNumberOfDescriptorsInTheirOrder) {
  std::vector<UniqueFd> files;
  std::vector<int> numbers;
  for (size_t i = 0; i <= 2 * sandbox::kMaxPassedFds; ++i) {
    files.emplace_back(::memfd_create("passed", MFD_CLOEXEC));
    numbers.push_back(files.back().get());
  }
  for (const size_t count :
       {size_t{0}, size_t{1}, sandbox::kMaxPassedFds,
        sandbox::kMaxPassedFds + 1, 2 * sandbox::kMaxPassedFds,
        2 * sandbox::kMaxPassedFds + 1}) {
    message_.set_service(std::to_string(count));
    ASSERT_THAT(SendMessage(ours_.get(), message_,
                            {numbers.begin(), numbers.begin() + count}),
                IsOk());
    message_.Clear();
    const absl::StatusOr<std::vector<UniqueFd>> got =
        ReceiveMessage(theirs_.get(), &message_);
    ASSERT_THAT(got.status(), IsOk()) << count;
    EXPECT_EQ(message_.service(), std::to_string(count));
    ASSERT_EQ(got->size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(FileOf((*got)[i]), FileOf(files[i])) << i;
    }
    // Nothing is left of the message.
    char byte;
    EXPECT_LT(::recv(theirs_.get(), &byte, 1, MSG_DONTWAIT), 0);
  }
}

TEST_F(PacketsTest, PassesTheLargestMessageAndNoLargerOne) {
  // The number of descriptors takes 4 bytes, and so does the field's head.
  const std::string largest(kMaxMessage - 8, 'x');
  message_.set_service(largest);
  ASSERT_THAT(SendMessage(ours_.get(), message_, {}), IsOk());
  message_.set_service(largest + "x");
  EXPECT_THAT(SendMessage(ours_.get(), message_, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a message of 131073 bytes; 131072 allowed")));
  ASSERT_THAT(Receive(), IsOk());
  EXPECT_EQ(message_.service(), largest);
}

TEST_F(PacketsTest, RefusesWhatIsNoMessage) {
  for (const std::string& bytes :
       {std::string(3, '\0'), std::string("\0\0\0\0\xff\xff", 6)}) {
    SendRaw(bytes);
    EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("no message")));
  }
  // The least one.
  SendRaw(std::string(4, '\0'));
  EXPECT_THAT(Receive(), IsOk());
}

TEST_F(PacketsTest, RefusesAMessageThatLacksADescriptor) {
  SendRaw(std::string("\1\0\0\0", 4));
  SendRaw("+");
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("a descriptor is missing")));
}

TEST_F(PacketsTest, RefusesMoreDescriptorsThanWereAnnounced) {
  ASSERT_THAT(sandbox::SendWithFds(ours_.get(), "\0\0\0\0", 4, {0}), IsOk());
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("not announced")));
}

TEST_F(PacketsTest, BoundsTheDescriptorsOfAMessage) {
  const std::vector<int> most(kMaxDescriptors, 0);
  ASSERT_THAT(SendMessage(ours_.get(), message_, most), IsOk());
  EXPECT_THAT(Receive(), IsOk());
  EXPECT_THAT(SendMessage(ours_.get(), message_,
                          std::vector<int>(kMaxDescriptors + 1, 0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "129 descriptors; 128 allowed"));
  SendRaw(std::string("\x81\0\0\0", 4));
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("too many descriptors")));
}

TEST_F(PacketsTest, RefusesAMessageThatWasCut) {
  SendRaw(std::string(kMaxMessage + 1, '\0'));
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("no message")));
}

TEST_F(PacketsTest, ReportsThatThePeerIsGone) {
  theirs_.Reset();
  EXPECT_FALSE(SendMessage(ours_.get(), message_, {}).ok());
}

}  // namespace
}  // namespace egress
