#include "sandbox/storage/mapped_word.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"

namespace sandbox {
namespace {

TEST(MappedWordTest, SurvivesADiskThatFails) {
  const UniqueFd file(::memfd_create("words", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  void* page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* word = static_cast<std::atomic<uint64_t>*>(page);
  uint64_t value = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(StoreMapped(word, 7));
    EXPECT_TRUE(LoadMapped(*word, &value));
    EXPECT_EQ(value, 7u);
    // Mapped memory beyond the end of a file fails like a broken disk.
    ASSERT_EQ(::ftruncate(file.get(), 0), 0);
    EXPECT_FALSE(StoreMapped(word, 8));
    EXPECT_FALSE(LoadMapped(*word, &value));
    ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  }
  EXPECT_TRUE(LoadMapped(*word, &value));
  EXPECT_EQ(value, 0u);
  ::munmap(page, 4096);
}

TEST(MappedWordDeathTest, ASigbusWithAnotherCauseStillKills) {
  const UniqueFd file(::memfd_create("words", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  void* page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* word = static_cast<std::atomic<uint64_t>*>(page);
  EXPECT_TRUE(StoreMapped(word, 7));
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  EXPECT_EXIT(*static_cast<volatile char*>(page) = 1,
              ::testing::KilledBySignal(SIGBUS), "");
  // It kills also after an access whose failure was survived.
  EXPECT_FALSE(StoreMapped(word, 8));
  EXPECT_EXIT(*static_cast<volatile char*>(page) = 1,
              ::testing::KilledBySignal(SIGBUS), "");
  ::munmap(page, 4096);
}

}  // namespace
}  // namespace sandbox
