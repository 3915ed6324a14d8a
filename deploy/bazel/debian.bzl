"""Binds Debian 12's C++ packages to the repository names of the upstream projects.

BUILD files depend on @com_google_absl//absl/status:statusor and the like, as
in any Bazel project. Only this file knows that the libraries come from apt
and are found with pkg-config. Their headers are in the compiler's own search
path, so a target consists only of link flags.
"""

# label in the repository -> pkg-config modules, and flags of the linker for libraries without a module
_ABSL = {
    "absl/base:core_headers": "absl_core_headers",
    "absl/container:btree": "absl_btree",
    "absl/flags:flag": "absl_flags",
    "absl/flags:parse": "absl_flags_parse",
    "absl/flags:reflection": "absl_flags_reflection",
    "absl/flags:usage": "absl_flags_usage",
    "absl/functional:any_invocable": "absl_any_invocable",
    "absl/functional:function_ref": "absl_function_ref",
    "absl/status": "absl_status",
    "absl/status:statusor": "absl_statusor",
    "absl/strings": "absl_strings",
    "absl/strings:cord": "absl_cord",
    "absl/strings:str_format": "absl_str_format",
    "absl/synchronization": "absl_synchronization",
    "absl/time": "absl_time",
}

_GRPC = {
    ":grpc++": "grpc++",
    ":grpc++_reflection": "grpc++ -lgrpc++_reflection",
}

_GOOGLETEST = {
    ":gtest": "gmock",
    ":gtest_main": "gmock gtest_main",
}

def _link_flags(ctx, spec):
    words = spec.split(" ")
    modules = [word for word in words if not word.startswith("-")]
    if not modules:
        return words
    result = ctx.execute(["pkg-config", "--libs"] + modules)
    if result.return_code != 0:
        fail("Install the -dev package of %s: %s" % (modules, result.stderr))
    flags = [word for word in words if word.startswith("-l")]
    for flag in result.stdout.strip().split(" "):
        if flag and not flag.startswith("-L") and flag not in flags:
            flags.append(flag)
    return flags

def _debian_repository_impl(ctx):
    packages = {"": ['package(default_visibility = ["//visibility:public"])']}
    for label, spec in ctx.attr.libraries.items():
        package, _, name = label.partition(":")
        packages.setdefault(package, packages[""][:1]).append(
            'cc_library(name = "%s", linkopts = %s)' %
            (name or package.split("/")[-1], repr(_link_flags(ctx, spec))),
        )
    for tool in ctx.attr.tools:
        ctx.symlink(ctx.which(tool), tool)
        packages[""].append('exports_files(["%s"])' % tool)
    for package, lines in packages.items():
        path = package + "/BUILD.bazel" if package else "BUILD.bazel"
        ctx.file(path, "\n".join(lines) + "\n")

_debian_repository = repository_rule(
    implementation = _debian_repository_impl,
    attrs = {
        "libraries": attr.string_dict(),
        "tools": attr.string_list(),
    },
    local = True,
)

def _googleapis_impl(ctx):
    if not ctx.path(_GOOGLEAPIS).exists:
        fail("Install the package bazel-bootstrap-source: %s" % _GOOGLEAPIS)
    ctx.symlink(_GOOGLEAPIS + "/google", "google")
    lines = [
        'load("@//deploy/bazel:cc_proto.bzl", "cc_proto")',
        'package(default_visibility = ["//visibility:public"])',
    ]
    for name in ["status", "error_details"]:
        lines.append('cc_proto(name = "%s_proto", src = "google/rpc/%s.proto", visibility = ["//visibility:public"])' % (name, name))
    ctx.file("BUILD.bazel", "\n".join(lines) + "\n")

_GOOGLEAPIS = "/usr/src/bazel-bootstrap/third_party/googleapis"

# google/rpc/*.proto; Debian ships them with the source of Bazel.
_googleapis = repository_rule(implementation = _googleapis_impl, local = True)

def _rules_cc_impl(ctx):
    rules = ["binary", "import", "library", "test", "toolchain", "toolchain_suite"]
    ctx.file("cc/BUILD.bazel", "")
    ctx.file("cc/defs.bzl", "".join(["cc_%s = native.cc_%s\n" % (r, r) for r in rules]))

# Debian's rules_cc 0.0.4 loads use_cpp_toolchain, which Bazel 4.2.3 lacks.
_rules_cc = repository_rule(implementation = _rules_cc_impl)

def _no_coverage_tools_impl(ctx):
    ctx.file("stub.sh", "#!/bin/sh\nexit 1\n", executable = True)
    ctx.file("BUILD.bazel", "\n".join([
        'package(default_visibility = ["//visibility:public"])',
        'sh_binary(name = "coverage_report_generator", srcs = ["stub.sh"])',
        'sh_binary(name = "lcov_merger", srcs = ["stub.sh"])',
    ]))

# Every cc_test resolves these, though only `bazel coverage` would run them.
_no_coverage_tools = repository_rule(implementation = _no_coverage_tools_impl)

def debian_repositories():
    """Declares every external repository; nothing is downloaded."""
    _rules_cc(name = "rules_cc")
    _googleapis(name = "googleapis")
    _no_coverage_tools(name = "remote_coverage_tools")
    native.local_repository(name = "rules_java", path = "/usr/share/bazel/rules/java")
    _debian_repository(name = "com_google_absl", libraries = _ABSL)
    _debian_repository(name = "com_google_googletest", libraries = _GOOGLETEST)
    # Static, for the static program corral-egress.
    _debian_repository(name = "c_ares", libraries = {":cares": "-l:libcares.a"})
    _debian_repository(name = "com_github_nlohmann_json", libraries = {":json": "nlohmann_json"})
    _debian_repository(name = "libfuse", libraries = {":fuse3": "fuse3"})
    # Shared also in programs, since its archive needs GnuTLS, which needs p11-kit, and that has none.
    _debian_repository(name = "libmicrohttpd", libraries = {":libmicrohttpd": "-Wl,--push-state,-Bdynamic -lmicrohttpd -Wl,--pop-state"})
    _debian_repository(name = "libseccomp", libraries = {":seccomp": "libseccomp"})
    # Static, so that the widths of characters can be replaced.
    _debian_repository(name = "libvterm", libraries = {":vterm": "-l:libvterm.a"})
    _debian_repository(name = "openssl", libraries = {":crypto": "libcrypto", ":ssl": "libssl libcrypto"})
    _debian_repository(name = "re2", libraries = {":re2": "re2"})
    _debian_repository(name = "zlib", libraries = {":z": "zlib"})
    _debian_repository(
        name = "com_google_protobuf",
        libraries = {
            ":protobuf": "protobuf",
            ":protobuf_lite": "protobuf-lite",
        },
        tools = ["protoc"],
    )
    _debian_repository(
        name = "com_github_grpc_grpc",
        libraries = _GRPC,
        tools = ["grpc_cpp_plugin"],
    )
