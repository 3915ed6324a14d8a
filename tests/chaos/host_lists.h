// Lists what a host has of the things that sandboxes take.

#ifndef TESTS_CHAOS_HOST_LISTS_H_
#define TESTS_CHAOS_HOST_LISTS_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace tests {

using Names = std::set<std::string>;

// The processes of all servers and sandboxes of this host, like "12 corrald".
Names ListCorralProcesses();

// The lines of /proc/self/mountinfo.
Names ListMounts();

// The directories of all sandboxes' groups, in each hierarchy.
Names ListControlGroups();

// The namespaces of which a process is a member or has a descriptor, like
// "net:[12]".
Names ListNamespaces();

// The files of the ranges of ids that a supervisor holds.
Names ListIdRanges();

// Everything below these directories.
Names ListFiles(const std::vector<std::string>& directories);

// The descriptors of a process, each with what it leads to.
Names ListDescriptors(pid_t pid);

}  // namespace tests

#endif  // TESTS_CHAOS_HOST_LISTS_H_
