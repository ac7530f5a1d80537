// A test program whose cases end in every possible way; counting_test.sh has the expected outcomes.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

TEST(MadeUp, Passes) {}

TEST(MadeUp, PassesBehindHalfALine) { std::printf("half a line"); }

TEST(MadeUp, Fails) { EXPECT_EQ(1, 2) << "as it should"; }

TEST(MadeUp, IsSkipped) { GTEST_SKIP() << "needs a GPU"; }

TEST(MadeUp, EndsByASignal) { std::raise(SIGKILL); }

TEST(MadeUp, PassesBehindASignal) {}

TEST(MadeUp, EndsAsIfAllWereWell) { ::_exit(0); }

TEST(MadeUp, EndsWithinALine) {
  std::printf("half a line");
  std::fflush(stdout);
  ::_exit(3);
}

TEST(MadeUp, NeverEnds) {
  for (;;) ::sleep(1);
}

TEST(MadeUp, LeavesAChildBehind) {
  if (::fork() == 0) {
    ::sleep(60);
    ::_exit(0);
  }
}

class Values : public testing::TestWithParam<int> {};

TEST_P(Values, AreNotTwo) { EXPECT_NE(GetParam(), 2); }

INSTANTIATE_TEST_SUITE_P(All, Values, testing::Range(0, 4));

// Both pass; an environment variable makes the program fail at its end.
TEST(AtTheEnd, First) {
  if (std::getenv("MADE_UP_END") != nullptr) std::atexit([] { ::_exit(9); });
}

TEST(AtTheEnd, Last) {}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("MADE_UP_BEGIN") != nullptr) return 7;
  testing::InitGoogleTest(&argc, argv);
  if (std::getenv("MADE_UP_NONE") != nullptr && !testing::GTEST_FLAG(list_tests)) return 7;
  return RUN_ALL_TESTS();
}
