"""cc_proto: one .proto file becomes one cc_library, with Debian's protoc."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def cc_proto(name, src, deps = [], services = False, lite = False, visibility = None):
    """Generates C++ from `src` and compiles it.

    Paths are relative to the package, in imports and in includes:
    "corral/v1/sandbox.pb.h", with services "corral/v1/sandbox.grpc.pb.h" too.

    Args:
      name: target name.
      src: the .proto file.
      deps: cc_proto targets of all files that it imports, directly or not (not google/protobuf/*).
      services: also generate gRPC services.
      lite: link no protobuf runtime; the binary chooses @com_google_protobuf//:protobuf or :protobuf_lite.
      visibility: as for cc_library.
    """
    stem = src[:-len(".proto")]
    hdrs = [stem + ".pb.h"]
    srcs = [stem + ".pb.cc"]
    flags = ["--cpp_out=$(RULEDIR)"]
    tools = ["@com_google_protobuf//:protoc"]
    runtime = [] if lite else ["@com_google_protobuf//:protobuf"]
    if services:
        hdrs.append(stem + ".grpc.pb.h")
        srcs.append(stem + ".grpc.pb.cc")
        plugin = "@com_github_grpc_grpc//:grpc_cpp_plugin"
        tools.append(plugin)
        runtime.append("@com_github_grpc_grpc//:grpc++")
        flags += [
            "--plugin=protoc-gen-grpc=$(location %s)" % plugin,
            "--grpc_out=$(RULEDIR)",
        ]

    # The .proto sources that protoc reads to resolve imports.
    native.filegroup(
        name = name + ".protos",
        srcs = [src],
        visibility = visibility,
    )
    imports = [dep + ".protos" for dep in deps]
    native.genrule(
        name = name + ".codegen",
        srcs = [src] + imports,
        outs = hdrs + srcs,
        # A file's import root is its path without the import path, which begins with the
        # first folder that is named corral or google.
        cmd = " ".join([
            "roots=; for f in $(SRCS); do",
            "case $$f in */google/rpc/*) roots=\"$$roots --proto_path=$${f%%/google/rpc/*}\";;",
            "*/corral/*) roots=\"$$roots --proto_path=$${f%%/corral/*}\";; esac; done;",
            "$(location @com_google_protobuf//:protoc) $$roots --proto_path=/usr/include",
        ] + flags + ["$(location %s)" % src]),
        tools = tools,
        visibility = ["//visibility:private"],
    )
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = ["-w"],  # our warnings do not apply to generated code
        includes = ["."],
        visibility = visibility,
        deps = deps + runtime,
    )
