// Settings of a process of Corral that uses gRPC.
//
// For the whole process. Best called before it has other threads: what these
// free meanwhile may undo a setting of the heap.

#ifndef SANDBOX_BASE_GRPC_PROCESS_H_
#define SANDBOX_BASE_GRPC_PROCESS_H_

namespace sandbox {

// Keeps freed memory of messages for the next ones: up to 16 MiB at the end of
// each arena of the heap. Messages have up to 256 KiB, and gRPC holds several.
// By default glibc gives back what is free at the end of the heap beyond twice
// the largest block so far (mallopt(3)), and each page that comes again costs a
// fault: in a virtual machine far more than the copying of its bytes.
//
// Ends the search for deadlocks with which Debian builds Abseil: in it all
// mutexes of gRPC would take turns.
void PrepareForGrpc();

}  // namespace sandbox

#endif  // SANDBOX_BASE_GRPC_PROCESS_H_
