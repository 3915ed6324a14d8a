#include "tests/network/network_namespace.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"

namespace tests {

NetworkNamespace::NetworkNamespace() {
  std::thread([this] {
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << std::strerror(errno);
    namespace_.Reset(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(namespace_.valid());
    const sandbox::UniqueFd socket(
        ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request = {};
    std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
    request.ifr_flags = IFF_UP;
    ASSERT_EQ(::ioctl(socket.get(), SIOCSIFFLAGS, &request), 0);
  }).join();
}

void NetworkNamespace::Run(const std::function<void()>& function) const {
  std::thread([&] {
    ASSERT_EQ(::setns(namespace_.get(), CLONE_NEWNET), 0)
        << std::strerror(errno);
    function();
  }).join();
}

}  // namespace tests
