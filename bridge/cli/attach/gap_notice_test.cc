#include "bridge/cli/attach/gap_notice.h"

#include "gtest/gtest.h"

namespace bridge {
namespace {

using corral::v1::STDERR;
using corral::v1::STDOUT;
using corral::v1::TERMINAL;

constexpr absl::Time kNow = absl::UnixEpoch();

corral::v1::Gap MakeGap(corral::v1::Stream stream, uint64_t begin,
                        uint64_t end) {
  corral::v1::Gap gap;
  gap.set_stream(stream);
  gap.set_begin_offset(begin);
  gap.set_end_offset(end);
  return gap;
}

TEST(GapNoticeTest, ReportsTheFirstGapAtOnce) {
  GapNotice notice;
  EXPECT_EQ(notice.Take(kNow), "");
  notice.Add(MakeGap(STDOUT, 0, 4));
  EXPECT_EQ(notice.Take(kNow),
            "corral: bytes 0 to 4 of stdout are no longer kept\n");
  EXPECT_EQ(notice.Take(kNow + absl::Hours(1)), "");
}

TEST(GapNoticeTest, ReportsLaterGapsOnceASecond) {
  GapNotice notice;
  notice.Add(MakeGap(STDOUT, 0, 4));
  notice.Take(kNow);
  notice.Add(MakeGap(STDOUT, 10, 20));
  EXPECT_EQ(notice.Take(kNow + absl::Milliseconds(500)), "");
  notice.Add(MakeGap(STDOUT, 30, 35));
  EXPECT_EQ(notice.Take(kNow + absl::Milliseconds(999)), "");
  EXPECT_EQ(notice.Take(kNow + absl::Seconds(1)),
            "corral: 15 of the bytes 10 to 35 of stdout, in 2 places, are no "
            "longer kept\n");
}

TEST(GapNoticeTest, MergesAdjacentGaps) {
  GapNotice notice;
  notice.Add(MakeGap(TERMINAL, 5, 7));
  notice.Add(MakeGap(TERMINAL, 7, 9));
  EXPECT_EQ(notice.Take(kNow),
            "corral: bytes 5 to 9 of terminal are no longer kept\r\n");
}

TEST(GapNoticeTest, ReportsTheRemainingGapsOfEachStreamAtTheEnd) {
  GapNotice notice;
  notice.Add(MakeGap(STDOUT, 0, 1));
  notice.Take(kNow);
  notice.Add(MakeGap(STDOUT, 2, 3));
  notice.Add(MakeGap(STDERR, 7, 8));
  EXPECT_EQ(notice.TakeAll(),
            "corral: bytes 2 to 3 of stdout are no longer kept\n"
            "corral: bytes 7 to 8 of stderr are no longer kept\n");
  EXPECT_EQ(notice.TakeAll(), "");
}

}  // namespace
}  // namespace bridge
