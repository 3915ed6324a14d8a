// Attacks on the profiles: what each allows and refuses.

#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/attack/attack_test.h"

namespace tests {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ProfileAttackTest : public AttackTest {
 protected:
  void Create(sandbox::wire::SandboxSpec::Profile profile) {
    spec().set_profile(profile);
    AttackTest::Create();
  }
};

TEST_F(ProfileAttackTest, StrictMakesNoSockets) {
  Create(sandbox::wire::SandboxSpec::STRICT);
  EXPECT_THAT(Attack("socket-types"), HasSubstr("1:\n2:\n10:\n"));
  EXPECT_THAT(Attack("families"), HasSubstr("socketpair: 1\n"));
}

TEST_F(ProfileAttackTest, StrictStillRunsShellsAndPipes) {
  Create(sandbox::wire::SandboxSpec::STRICT);
  EXPECT_EQ(Shell("seq 3 | sort -r | tr '\\n' ' ' > x; cat x"), "3 2 1 ");
}

TEST_F(ProfileAttackTest, StrictLeavesNoTraceAtFilesThatOthersSee) {
  Create(sandbox::wire::SandboxSpec::STRICT);
  // F_NOTIFY with DN_ACCESS; a file of /usr and its directory.
  EXPECT_EQ(Shell("cat > program.py << 'END'\n"
                  "import errno, fcntl, os\n"
                  "file = os.open('/usr/bin/env', os.O_RDONLY)\n"
                  "place = os.open('/usr/bin', os.O_RDONLY)\n"
                  "for attempt in (lambda: fcntl.flock(file, fcntl.LOCK_SH),\n"
                  "                lambda: fcntl.lockf(file, fcntl.LOCK_SH),\n"
                  "                lambda: fcntl.fcntl(place, 1026, 1)):\n"
                  "    try:\n"
                  "        attempt()\n"
                  "        print('done')\n"
                  "    except OSError as error:\n"
                  "        print(errno.errorcode[error.errno])\n"
                  "END\n"
                  "python3 program.py"),
            "EPERM\nEPERM\nEPERM\n");
}

TEST_F(ProfileAttackTest, DebugMakesNoNamespaces) {
  Create(sandbox::wire::SandboxSpec::DEBUG);
  EXPECT_THAT(Attack("namespaces"), Not(HasSubstr(": 0\n")));
  EXPECT_EQ(Shell("setarch -R echo fixed"), "fixed\n");
}

TEST_F(ProfileAttackTest, NestedBuildsASandboxOfItsOwn) {
  Create(sandbox::wire::SandboxSpec::NESTED);
  EXPECT_EQ(Shell("unshare --user --map-root-user --mount --pid --net --ipc "
                  "--uts --fork sh -c 'mount -t proc proc /proc && "
                  "mount -t tmpfs tmpfs /tmp && hostname inner && "
                  "echo $$ $(hostname)'"),
            "1 inner\n");
}

TEST_F(ProfileAttackTest, NestedRunsBubblewrap) {
  if (::access("/usr/bin/bwrap", X_OK) != 0) {
    GTEST_SKIP() << "bubblewrap is not installed";
  }
  Create(sandbox::wire::SandboxSpec::NESTED);
  EXPECT_EQ(Shell("bwrap --unshare-all --ro-bind /usr /usr --symlink usr/bin "
                  "/bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 "
                  "--proc /proc --dev /dev --tmpfs /tmp echo inside"),
            "inside\n");
}

TEST_F(ProfileAttackTest, NestedGainsNothingOverTheHost) {
  Create(sandbox::wire::SandboxSpec::NESTED);
  // Runs it as root of a user namespace of its own.
  const std::string inner = "unshare --user --map-root-user --mount ";
  EXPECT_THAT(Shell(inner + "cat /etc/shadow"), HasSubstr("No such file"));
  EXPECT_THAT(Shell(inner + "mount -o remount,rw,bind /usr"),
              HasSubstr("permission denied"));
  EXPECT_THAT(Shell(inner + "sh -c 'echo 1 > /proc/sys/kernel/panic'"),
              HasSubstr("Permission denied"));
  EXPECT_THAT(Shell(inner + "sh -c 'echo x > /proc/sysrq-trigger'"),
              AnyOf(HasSubstr("Permission denied"), HasSubstr("nonexistent")));
  EXPECT_THAT(Shell(inner + "mknod disk b 254 0"), HasSubstr("not permitted"));
  EXPECT_EQ(Attack("system-call-filters"),
            "no_new_privs: 0\n"
            "seccomp: EINVAL\n"
            "seccomp, high bits: EINVAL\n"
            "seccomp, all threads: EINVAL\n"
            "seccomp, with a listener: EINVAL\n"
            "prctl: EINVAL\n"
            "prctl, high bits: EINVAL\n"
            "new filters: 0\n");
  EXPECT_THAT(Attack("sockets"), HasSubstr("netlink netfilter: EPERM\n"));
}

TEST_F(ProfileAttackTest, NestedMakesOnlySixtyFourNamespacesOfAKind) {
  Create(sandbox::wire::SandboxSpec::NESTED);
  // Each is the parent of the next one, so that all exist at the same time.
  EXPECT_THAT(Shell("echo 'n=$((n+1)); export n; [ $n -lt 70 ] || "
                    "{ echo all; exit; }; unshare --uts sh ./deeper' > "
                    "deeper; exec unshare --user --map-root-user sh ./deeper"),
              Not(HasSubstr("all")));
}

}  // namespace
}  // namespace tests
