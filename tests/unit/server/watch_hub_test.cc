#include "server/watch_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "tests/support/fields/field_fixture.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::server {
namespace {

class WatchHubTest : public ::testing::Test {
 protected:
  void SetUp() override { stack_ = std::move(test::Stack::open(media_)).value(); }
  /// Makes one event.
  void commit_step() {
    const auto writer = stack_.store->write(test::described_run("wrf", 0)).value();
    const engine::GridId grid = writer->grid(test::small_grid(3, 2)).value();
    ASSERT_TRUE(test::put_field(*writer, grid, 6, {.step_seconds = ++step_}).is_ok());
    ASSERT_TRUE(writer->commit_step(step_).is_ok());
  }

  /// The hub tells of events that come after its thread has begun; so there are some.
  void make_events_until(const std::function<bool()>& done) {
    while (!done()) {
      commit_step();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  test::RecordedMedia media_{{.pages = 64}};
  test::Stack stack_;
  std::int64_t step_ = 0;
};

/// Says when it is poked, then does what it was told to.
class Poked final : public WatchHub::Watcher {
 public:
  explicit Poked(std::function<void()> act = [] {}) : act_(std::move(act)) {}
  void poke() override {
    ++pokes_;
    act_();
  }
  void stop() override {}
  [[nodiscard]] bool was_poked() const { return pokes_ > 0; }
  [[nodiscard]] int pokes() const { return pokes_; }

 private:
  std::function<void()> act_;
  std::atomic<int> pokes_{0};
};

TEST_F(WatchHubTest, OthersComeAndGoWhileOneIsPoked) {
  WatchHub hub(*stack_.catalogue);
  std::promise<void> go_on;
  Poked slow([&, released = go_on.get_future().share()] { released.wait(); });
  Poked other;
  ASSERT_TRUE(hub.add(&slow));
  make_events_until([&] { return slow.was_poked(); });
  EXPECT_TRUE(hub.add(&other));
  hub.remove(&other);
  // Who is being poked can be removed when that has ended, not before.
  std::future<void> removed = std::async(std::launch::async, [&] { hub.remove(&slow); });
  EXPECT_EQ(removed.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  go_on.set_value();
  removed.get();
  const int pokes = slow.pokes();
  Poked last;
  ASSERT_TRUE(hub.add(&last));
  make_events_until([&] { return last.was_poked(); });
  EXPECT_EQ(slow.pokes(), pokes);
  hub.remove(&last);
}

TEST_F(WatchHubTest, AWatcherMayEndItselfWhenItIsPoked) {
  WatchHub hub(*stack_.catalogue);
  Poked* self = nullptr;
  Poked watcher([&] { hub.remove(self); });
  self = &watcher;
  ASSERT_TRUE(hub.add(&watcher));
  make_events_until([&] { return watcher.was_poked(); });
  Poked next;
  ASSERT_TRUE(hub.add(&next));
  make_events_until([&] { return next.was_poked(); });
  EXPECT_EQ(watcher.pokes(), 1);
  hub.remove(&next);
}

}  // namespace
}  // namespace nvmdb::server
