// Commands whose output, to every byte, and whose end are known beforehand.

#ifndef TESTS_CHAOS_WORKLOAD_H_
#define TESTS_CHAOS_WORKLOAD_H_

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "corral/v1/execution.pb.h"

namespace tests {

struct Workload {
  struct Output {
    uint64_t seed = 0;
    uint64_t size = 0;
  };

  corral::v1::Command command;
  std::map<corral::v1::Stream, Output> outputs;
  // Bytes to write to the command's input, from the output's pattern. 0: none.
  uint64_t input_size = 0;
  // The path on the host. The command appends a line for each start.
  std::string ledger;
  // END of the payload.
  int end = 0;

  uint64_t retained() const { return command.output().retain_bytes(); }
  // Returns true if the command writes more to the stream than is kept.
  bool Overflows(corral::v1::Stream stream) const {
    return outputs.at(stream).size > retained();
  }
};

// Makes a random command. `directory` holds the payload and the ledgers; `id`
// is part of the ledger's name. No output is larger than `largest` bytes.
Workload MakeWorkload(const std::string& directory, const std::string& id,
                      uint64_t largest, std::mt19937_64& random);

// Makes a command that ends at once, without output.
Workload MakeTinyWorkload(const std::string& directory, const std::string& id);

}  // namespace tests

#endif  // TESTS_CHAOS_WORKLOAD_H_
