#include "measure/fleet/rate_limited_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/fleet/inbox.h"
#include "tests/support/set_clock.h"

namespace tilewright::measure::fleet {
namespace {

TEST(NotesTest, OthersCauseSoManyLinesAMinute) {
  SetClock clock{1000};
  std::vector<std::string> lines;
  RateLimitedLog notes([&](const std::string& line) { lines.push_back(line); }, clock);
  for (int i = 0; i < 5; ++i) notes.Limited("the same");
  EXPECT_EQ(lines, std::vector<std::string>{"the same"});
  for (int i = 0; i < 40'000; ++i) notes.Limited("line " + std::to_string(i));
  EXPECT_EQ(lines.size(), RateLimitedLog::kMaxLines);
  notes.Publish("its own");
  EXPECT_EQ(lines.back(), "its own");
  clock.now += RateLimitedLog::kMinuteSeconds;
  notes.Limited("the same");
  EXPECT_EQ(lines[lines.size() - 2], "39941 more lines like these were omitted in the last minute");
  EXPECT_EQ(lines.back(), "the same");
}

TEST(NotesTest, LinesAreShortAndObeyedByNoTerminal) {
  SetClock clock{1000};
  std::vector<std::string> lines;
  RateLimitedLog notes([&](const std::string& line) { lines.push_back(line); }, clock);
  notes.Limited("a\x1b[2Jb\nc" + std::string(100'000, 'x'));
  EXPECT_EQ(lines[0].substr(0, 12), R"(a\x1b[2Jb\nc)");
  EXPECT_LE(lines[0].size(), 4 * 600u);  // an escape takes four bytes
}

TEST(InboxTest, WhatIsNotReadIsDroppedAndSaid) {
  Inbox inbox(/*most_bytes=*/100'000);
  BrokerEvent said;
  said.payload = std::string(1000, 'x');
  for (int i = 0; i < 40'000; ++i) inbox.Put(said);
  BrokerEvent delivered = said;
  delivered.kind = BrokerEvent::Kind::kDelivered;  // was requested
  inbox.Put(delivered);
  int messages = 0, told = 0, deliveries = 0;
  while (const auto incoming = inbox.Next(0)) {
    messages += incoming->kind == BrokerEvent::Kind::kMessage ? 1 : 0;
    told += incoming->kind == BrokerEvent::Kind::kRejected ? 1 : 0;
    deliveries += incoming->kind == BrokerEvent::Kind::kDelivered ? 1 : 0;
  }
  EXPECT_GT(messages, 50);
  EXPECT_LT(messages, 100);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(deliveries, 1);
  inbox.Put(said);
  EXPECT_TRUE(inbox.Next(0)) << "there is room again";
}

}  // namespace
}  // namespace tilewright::measure::fleet
