#include "server/net/open_connections.h"

#include <sys/socket.h>

#include <utility>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace server {
namespace {

using ::sandbox::UniqueFd;

UniqueFd MakeSocket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

TEST(OpenConnectionsTest, RefusesAConnectionAboveTheLimit) {
  OpenConnections connections(2);
  const UniqueFd first = MakeSocket();
  const UniqueFd second = MakeSocket();
  const UniqueFd third = MakeSocket();
  EXPECT_TRUE(connections.Add(first.get()));
  EXPECT_TRUE(connections.Add(second.get()));
  EXPECT_FALSE(connections.Add(third.get()));
  EXPECT_FALSE(connections.Add(third.get()));
}

TEST(OpenConnectionsTest, TakesAnotherOneWhenOneWasClosed) {
  OpenConnections connections(2);
  UniqueFd first = MakeSocket();
  const UniqueFd second = MakeSocket();
  const UniqueFd third = MakeSocket();
  ASSERT_TRUE(connections.Add(first.get()));
  ASSERT_TRUE(connections.Add(second.get()));
  first.Reset();
  EXPECT_TRUE(connections.Add(third.get()));
}

TEST(OpenConnectionsTest, ADescriptorWhoseNumberWasReusedIsClosed) {
  OpenConnections connections(1);
  UniqueFd first = MakeSocket();
  const UniqueFd second = MakeSocket();
  ASSERT_TRUE(connections.Add(first.get()));
  const int number = first.get();
  first.Reset();
  const UniqueFd other = MakeSocket();
  ASSERT_EQ(other.get(), number);
  EXPECT_TRUE(connections.Add(second.get()));
}

TEST(OpenConnectionsTest, CountsANumberThatIsAddedAgainOnce) {
  OpenConnections connections(2);
  UniqueFd first = MakeSocket();
  const UniqueFd second = MakeSocket();
  ASSERT_TRUE(connections.Add(first.get()));
  first.Reset();
  first = MakeSocket();
  EXPECT_TRUE(connections.Add(first.get()));
  EXPECT_TRUE(connections.Add(second.get()));
  const UniqueFd third = MakeSocket();
  EXPECT_FALSE(connections.Add(third.get()));
}

}  // namespace
}  // namespace server
