#include "wal/record_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "storage/base/random.h"

namespace nvmdb::wal {
namespace {

std::string text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string random_text(SeededRandom& random, std::uint64_t longest) {
  std::string text(random.below(longest + 1), '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

bool push(RecordRing& ring, const std::string& text, std::uint64_t number) {
  if (!ring.reserve(text.size())) return false;
  if (!text.empty()) std::memcpy(ring.payload(), text.data(), text.size());
  ring.publish(Tid{number}, number * 3);
  return true;
}

TEST(RecordRing, TakesHalfOfItsBytesWhereverItWraps) {
  RecordRing ring(4096);
  const std::string half(ring.longest_payload(), 'x');
  for (std::uint64_t shift = 0; shift < 4096; shift += 96) {
    ASSERT_TRUE(push(ring, std::string(shift % 700, 's'), 1));
    ASSERT_TRUE(ring.front().has_value());
    ring.pop();
    ring.release();
    ASSERT_TRUE(push(ring, half, 2)) << "after " << shift;
    ASSERT_EQ(text_of(ring.front()->payload), half);
    ring.pop();
    ring.release();
  }
}

TEST(RecordRing, RefusesWhatDoesNotFitUntilRoomIsReleased) {
  RecordRing ring(4096);
  const std::string half(ring.longest_payload(), 'x');
  ASSERT_TRUE(push(ring, half, 1));
  ASSERT_TRUE(push(ring, half, 2));
  EXPECT_FALSE(push(ring, "", 3));
  ASSERT_TRUE(ring.front().has_value());
  ring.pop();
  EXPECT_FALSE(push(ring, "", 3));  // popped, but still in use
  ring.release();
  EXPECT_TRUE(push(ring, "", 3));
}

TEST(RecordRing, ForgetsACancelledRecord) {
  RecordRing ring(4096);
  ASSERT_TRUE(ring.reserve(100));
  ring.cancel();
  EXPECT_FALSE(ring.front().has_value());
  EXPECT_EQ(ring.pending_bytes(), 0U);
  ASSERT_TRUE(push(ring, "kept", 9));
  EXPECT_EQ(text_of(ring.front()->payload), "kept");
}

TEST(RecordRing, GivesBackWhatWentInAgainstAQueue) {
  SeededRandom random(42);
  RecordRing ring(4096);
  std::deque<std::pair<std::uint64_t, std::string>> model;
  std::uint64_t number = 0;
  for (int step = 0; step < 50'000; ++step) {
    if (random.chance(0.55)) {
      const std::string text = random_text(random, random.chance(0.1) ? ring.longest_payload() : 200);
      if (push(ring, text, ++number)) model.emplace_back(number, text);
    } else if (auto entry = ring.front()) {
      ASSERT_FALSE(model.empty());
      ASSERT_EQ(entry->tid.value, model.front().first);
      ASSERT_EQ(entry->charge, model.front().first * 3);
      ASSERT_EQ(text_of(entry->payload), model.front().second);
      model.pop_front();
      ring.pop();
      if (random.chance(0.5)) ring.release();
    } else {
      ASSERT_TRUE(model.empty());
      ring.release();
    }
  }
}

TEST(RecordRing, HandsRecordsFromOneThreadToAnother) {
  RecordRing ring(8192);
  constexpr std::uint64_t kRecords = 20'000;
  std::thread producer([&] {
    for (std::uint64_t i = 1; i <= kRecords;) {
      const std::string text(i % 300, static_cast<char>('a' + i % 26));
      if (push(ring, text, i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (std::uint64_t i = 1; i <= kRecords;) {
    const auto entry = ring.front();
    if (!entry) {
      ring.release();
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(entry->tid.value, i);
    ASSERT_EQ(text_of(entry->payload), std::string(i % 300, static_cast<char>('a' + i % 26)));
    ring.pop();
    ++i;
  }
  producer.join();
}

}  // namespace
}  // namespace nvmdb::wal
