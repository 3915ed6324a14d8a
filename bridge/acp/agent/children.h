// The children of this process, also those that it inherited as a child
// subreaper.

#ifndef BRIDGE_ACP_AGENT_CHILDREN_H_
#define BRIDGE_ACP_AGENT_CHILDREN_H_

namespace bridge {

// Sends SIGKILL to every child of the main thread. Returns false if there is
// none that may be killed: a corrald, and its supervisors, are spared, since
// other clients may use them, and they are made to outlive their starter.
//
// An inherited child belongs to the main thread. Uses raw system calls only,
// so that a child that was just forked may call it. On a kernel without
// CONFIG_PROC_CHILDREN it finds no child.
bool KillChildren();

// Returns true if KillChildren() can find children on this kernel.
bool CanListChildren();

}  // namespace bridge

#endif  // BRIDGE_ACP_AGENT_CHILDREN_H_
