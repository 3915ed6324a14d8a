#include "server/api/limits_conversion.h"

#include <cstdint>

namespace server {
namespace {

uint64_t LimitOr(bool present, uint64_t value, uint64_t fallback) {
  return present ? value : fallback;
}

}  // namespace

void SetLimits(const corral::v1::Limits& wanted,
               const corral::v1::Limits& defaults, wire::SandboxSpec* spec) {
  spec->set_memory_bytes(LimitOr(wanted.has_memory_bytes(),
                                 wanted.memory_bytes(),
                                 defaults.memory_bytes()));
  spec->set_pids(LimitOr(wanted.has_pids(), wanted.pids(), defaults.pids()));
  spec->set_cpu_millis(LimitOr(wanted.has_cpu_millis(), wanted.cpu_millis(),
                               defaults.cpu_millis()));
  spec->set_output_bytes(LimitOr(wanted.has_output_bytes(),
                                 wanted.output_bytes(),
                                 defaults.output_bytes()));
  spec->set_kill_all_on_oom(wanted.has_kill_all_on_oom()
                                ? wanted.kill_all_on_oom()
                                : defaults.kill_all_on_oom());
  spec->set_file_bytes(LimitOr(wanted.has_file_bytes(), wanted.file_bytes(),
                               defaults.file_bytes()));
  spec->set_disk_bytes_per_second(LimitOr(wanted.has_disk_bytes_per_second(),
                                          wanted.disk_bytes_per_second(),
                                          defaults.disk_bytes_per_second()));
  spec->set_disk_operations_per_second(
      LimitOr(wanted.has_disk_operations_per_second(),
              wanted.disk_operations_per_second(),
              defaults.disk_operations_per_second()));
  spec->set_disk_bytes(LimitOr(wanted.has_disk_bytes(), wanted.disk_bytes(),
                               defaults.disk_bytes()));
  spec->set_disk_inodes(LimitOr(wanted.has_disk_inodes(), wanted.disk_inodes(),
                                defaults.disk_inodes()));
}

void DescribeLimits(const wire::SandboxSpec& spec, corral::v1::Limits* limits) {
  if (spec.memory_bytes() != 0) {
    limits->set_memory_bytes(spec.memory_bytes());
  }
  if (spec.pids() != 0) {
    limits->set_pids(spec.pids());
  }
  if (spec.cpu_millis() != 0) {
    limits->set_cpu_millis(spec.cpu_millis());
  }
  if (spec.output_bytes() != 0) {
    limits->set_output_bytes(spec.output_bytes());
  }
  if (spec.kill_all_on_oom()) {
    limits->set_kill_all_on_oom(true);
  }
  if (spec.file_bytes() != 0) {
    limits->set_file_bytes(spec.file_bytes());
  }
  if (spec.disk_bytes_per_second() != 0) {
    limits->set_disk_bytes_per_second(spec.disk_bytes_per_second());
  }
  if (spec.disk_operations_per_second() != 0) {
    limits->set_disk_operations_per_second(spec.disk_operations_per_second());
  }
  if (spec.disk_bytes() != 0) {
    limits->set_disk_bytes(spec.disk_bytes());
  }
  if (spec.disk_inodes() != 0) {
    limits->set_disk_inodes(spec.disk_inodes());
  }
}

}  // namespace server
