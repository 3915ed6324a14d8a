#include "sandbox/storage/mapped_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/base/unique_fd.h"
#include "tests/status_matchers.h"

namespace sandbox {
namespace {

using ::testing::HasSubstr;
using ::tests::IsOk;
using ::tests::StatusIs;

class MappedPageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::ftruncate(file_.get(), MappedPage::kSize), 0);
    ASSERT_EQ(::pwrite(file_.get(), "text", 4, 8), 4);
  }

  const UniqueFd file_{::memfd_create("page", MFD_CLOEXEC)};
};

TEST_F(MappedPageTest, IsThatOfTheFile) {
  const absl::StatusOr<std::shared_ptr<MappedPage>> page =
      MappedPage::Map(file_.get(), /*writable=*/true);
  ASSERT_THAT(page.status(), IsOk());
  EXPECT_EQ(*(*page)->At<char>(8), 't');
  *(*page)->At<char>(8) = 'T';
  char byte = 0;
  ASSERT_EQ(::pread(file_.get(), &byte, 1, 8), 1);
  EXPECT_EQ(byte, 'T');
}

TEST_F(MappedPageTest, IsUnmappedWithItsLastOwner) {
  std::shared_ptr<MappedPage> page =
      *MappedPage::Map(file_.get(), /*writable=*/true);
  char* const begin = page->At<char>(0);
  std::shared_ptr<MappedPage> other = page;
  page.reset();
  EXPECT_EQ(::msync(begin, MappedPage::kSize, MS_ASYNC), 0);
  other.reset();
  EXPECT_EQ(::msync(begin, MappedPage::kSize, MS_ASYNC), -1);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(MappedPageTest, MayBeOfAFileThatIsOnlyRead) {
  const UniqueFd reader(
      ::open(absl::StrCat("/proc/self/fd/", file_.get()).c_str(),
             O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(MappedPage::Map(reader.get(), /*writable=*/false).status(),
              IsOk());
  EXPECT_THAT(MappedPage::Map(reader.get(), /*writable=*/true).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("mmap")));
}

}  // namespace
}  // namespace sandbox
