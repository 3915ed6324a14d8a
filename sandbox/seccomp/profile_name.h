// The profiles of system calls: corral.v1.Sandbox.Profile says what each is
// for, profile.h what it allows.

#ifndef SANDBOX_SECCOMP_PROFILE_NAME_H_
#define SANDBOX_SECCOMP_PROFILE_NAME_H_

namespace sandbox::seccomp {

enum class Profile { kDefault, kStrict, kDebug, kNested };

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_PROFILE_NAME_H_
