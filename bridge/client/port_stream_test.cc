#include "bridge/client/port_stream.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bridge/client/connection.h"
#include "gtest/gtest.h"
#include "sandbox/base/event_loop.h"
#include "sandbox/base/mutex.h"
#include "tests/fakes/fake_port_server.h"

namespace client {
namespace {

using ::tests::FakePortServer;

// Keeps what the stream reports, as text.
class PortStreamTest : public ::testing::Test, public PortStream::Observer {
 protected:
  PortStreamTest() {
    ConnectOptions options;
    options.server = server_.address();
    connection_ = *Connection::Open(options);
  }
  ~PortStreamTest() override {
    stream_.reset();
    loop_->Stop();
    thread_.join();
  }

  void OnConnected() override { Add("connected"); }
  void OnData(std::string data) override { Add("data " + data); }
  void OnDataEnd() override { Add("end"); }
  void OnWritten() override { Add("written"); }
  void OnOver(const grpc::Status& status) override {
    Add(absl::StrCat("over ", status.error_code(), status.error_message()));
  }
  void Add(std::string event) {
    sandbox::MutexLock lock(&mutex_);
    events_.push_back(std::move(event));
    mutex_.Signal();
  }
  // Blocks until there is an event, and takes the oldest.
  std::string Next() {
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await(
        [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !events_.empty(); });
    std::string event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  void Begin() {
    Do([this] {
      stream_ = PortStream::Begin(loop_, &connection_->ports(),
                                  FakePortServer::kSandbox, 8080, this);
    });
  }
  void Connect() {
    Begin();
    call_ = server_.Accept();
    call_->Connect();
    EXPECT_EQ(Next(), "connected");
  }
  // Returns when the connection is known to be lost.
  void StopServer() {
    server_.Stop();
    grpc::ClientContext context;
    corral::v1::Sandbox sandbox;
    EXPECT_FALSE(
        connection_->sandboxes().GetSandbox(&context, {}, &sandbox).ok());
  }
  // Runs `function` on the thread of the loop, and waits for it.
  void Do(const std::function<void()>& function) {
    bool done = false;
    loop_->Post([&] {
      function();
      sandbox::MutexLock lock(&mutex_);
      done = true;
      mutex_.Signal();
    });
    sandbox::MutexLock lock(&mutex_);
    mutex_.Await([&] { return done; });
  }

  FakePortServer server_;
  std::unique_ptr<Connection> connection_;
  std::shared_ptr<sandbox::EventLoop> loop_ = *sandbox::EventLoop::Create();
  std::thread thread_{[this] { loop_->Run(); }};
  std::shared_ptr<PortStream> stream_;
  std::shared_ptr<FakePortServer::Call> call_;
  sandbox::Mutex mutex_;
  std::deque<std::string> events_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(PortStreamTest, OpensThePortOfTheSandbox) {
  Connect();
  EXPECT_EQ(call_->opened().name(), FakePortServer::kSandbox);
  EXPECT_EQ(call_->opened().port(), 8080);
  call_->Finish();
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "over 0");
}

TEST_F(PortStreamTest, PassesBytesAndEndsBothWays) {
  Connect();
  Do([this] { stream_->Write("question"); });
  EXPECT_EQ(call_->Next().data(), "question");
  EXPECT_EQ(Next(), "written");
  Do([this] { stream_->WriteEnd(); });
  EXPECT_TRUE(call_->Next().has_end());
  EXPECT_EQ(Next(), "written");
  call_->Send("answer");
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "data answer");
  call_->SendEnd();
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "end");
  // Nobody has to ask for the end of the call.
  call_->Finish();
  EXPECT_EQ(Next(), "over 0");
}

TEST_F(PortStreamTest, ReadsOnlyWhatIsAskedFor) {
  Connect();
  call_->Send("unwanted");
  Do([this] { stream_->Write("question"); });
  EXPECT_EQ(call_->Next().data(), "question");
  EXPECT_EQ(Next(), "written");
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "data unwanted");
  Do([this] { stream_->Cancel(); });
  EXPECT_EQ(Next(), "over 1CANCELLED");
}

TEST_F(PortStreamTest, ReportsWhyThePortIsRefused) {
  Begin();
  call_ = server_.Accept();
  call_->Finish({grpc::StatusCode::FAILED_PRECONDITION, "no server listens"});
  EXPECT_EQ(Next(), "over 9no server listens");
}

TEST_F(PortStreamTest, SkipsMessagesThatItDoesNotKnow) {
  Connect();
  call_->SendUnknown();
  call_->Send("known");
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "data known");
  call_->Finish();
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "over 0");
}

TEST_F(PortStreamTest, EndsTheCallWhenItIsCancelled) {
  Connect();
  Do([this] {
    stream_->Cancel();
    stream_->Cancel();
  });
  EXPECT_EQ(call_->Next().message_case(),
            corral::v1::ConnectPortRequest::MESSAGE_NOT_SET);
  EXPECT_EQ(Next(), "over 1CANCELLED");
}

TEST_F(PortStreamTest, DoesNothingAfterItsEnd) {
  Connect();
  call_->Finish();
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "over 0");
  Do([this] {
    stream_->Read();
    stream_->Write("late");
    stream_->WriteEnd();
    stream_->Cancel();
  });
}

TEST_F(PortStreamTest, IsGoneAfterItsEnd) {
  Connect();
  call_->Finish();
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next(), "over 0");
  const std::weak_ptr<PortStream> stream = stream_;
  Do([this] { stream_.reset(); });
  EXPECT_TRUE(stream.expired());
}

TEST_F(PortStreamTest, EndsThoughTheServerIsGoneBeforeTheCallBegins) {
  server_.Stop();
  Begin();
  EXPECT_EQ(Next().substr(0, 7), "over 14");
}

TEST_F(PortStreamTest, EndsThoughTheServerIsGoneBeforeAWrite) {
  Connect();
  StopServer();
  Do([this] { stream_->Write("data"); });
  Do([this] { stream_->Read(); });
  std::string event = Next();
  // gRPC may take a message while it closes the connection.
  if (event == "written") {
    event = Next();
  }
  EXPECT_EQ(event.substr(0, 7), "over 14");
}

TEST_F(PortStreamTest, ReportsNoDataAsWrittenThatCannotBeSent) {
  Connect();
  // gRPC refuses so large a message.
  Do([this] { stream_->Write(std::string(64 << 20, 'd')); });
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next().substr(0, 6), "over 8");
}

TEST_F(PortStreamTest, ReportsAnEndAsWrittenAlsoWhenTheServerIsGone) {
  Connect();
  StopServer();
  Do([this] { stream_->WriteEnd(); });
  EXPECT_EQ(Next(), "written");
  Do([this] { stream_->Read(); });
  EXPECT_EQ(Next().substr(0, 7), "over 14");
}

}  // namespace
}  // namespace client
