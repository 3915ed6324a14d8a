// The profiles of system calls: corral.v1.Sandbox.Profile says what each is
// for, profile.h what it allows.

#ifndef SANDBOX_SECCOMP_PROFILE_NAME_H_
#define SANDBOX_SECCOMP_PROFILE_NAME_H_

namespace sandbox::seccomp {

enum class Profile { kDefault, kStrict, kDebug, kNested };

// Returns true if Corral makes the calls of kAsked in arguments.h for
// commands. `strict` needs none of them, and with `nested` a caller may have a
// root and ids that it does not know.
constexpr bool HasListener(Profile profile) {
  return profile == Profile::kDefault || profile == Profile::kDebug;
}

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_PROFILE_NAME_H_
