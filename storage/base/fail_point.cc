#include "storage/base/fail_point.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <new>
#include <thread>

#include "storage/base/result.h"

namespace nvmdb {
namespace {

constexpr std::chrono::milliseconds kDelay{100};

// The fail points are made one after the other, before main().
constinit FailPoint* first = nullptr;

struct Order {
  std::string_view name;
  std::uint64_t nth = 0;
  FailPoint::Action action = FailPoint::Action::None;
};

FailPoint::Action action_of(std::string_view word) {
  if (word == "kill") return FailPoint::Action::Kill;
  if (word == "error") return FailPoint::Action::Error;
  if (word == "delay") return FailPoint::Action::Delay;
  if (word == "bad_alloc") return FailPoint::Action::BadAlloc;
  return FailPoint::Action::None;
}

Result<Order> parse_order(std::string_view text) {
  const Status wrong = Status::invalid_argument("fail point '" + std::string(text) +
                                                "': expected NAME:NTH:kill, error, delay or bad_alloc");
  const std::size_t name_end = text.find(':');
  if (name_end == std::string_view::npos) return wrong;
  const std::size_t nth_end = text.find(':', name_end + 1);
  if (nth_end == std::string_view::npos) return wrong;
  Order order{.name = text.substr(0, name_end), .action = action_of(text.substr(nth_end + 1))};
  const std::string_view nth = text.substr(name_end + 1, nth_end - name_end - 1);
  const auto [end, error] = std::from_chars(nth.data(), nth.data() + nth.size(), order.nth);
  if (error != std::errc() || end != nth.data() + nth.size() || order.nth == 0) return wrong;
  if (order.action == FailPoint::Action::None) return wrong;
  return order;
}

}  // namespace

FailPoint::FailPoint(const char* name) : name_(name), next_(first) {
  first = this;
}

std::vector<std::string> FailPoint::names() {
  std::vector<std::string> names;
  for (const FailPoint* point = first; point != nullptr; point = point->next_)
    names.emplace_back(point->name_);
  std::sort(names.begin(), names.end());
  return names;
}

Status FailPoint::arm(std::string_view text) {
  std::vector<Order> orders;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    NVMDB_ASSIGN(const Order order, parse_order(text.substr(at, end - at)));
    const auto known = [&] {
      for (const FailPoint* point = first; point != nullptr; point = point->next_) {
        if (point->name() == order.name) return true;
      }
      return false;
    };
    if (!known()) return Status::invalid_argument("there is no fail point '" + std::string(order.name) + "'");
    orders.push_back(order);
    at = end + 1;
  }
  for (FailPoint* point = first; point != nullptr; point = point->next_) {
    point->action_.store(Action::None, std::memory_order_relaxed);
    for (const Order& order : orders) {
      if (order.name != point->name()) continue;
      point->countdown_.store(order.nth, std::memory_order_relaxed);
      point->action_.store(order.action, std::memory_order_release);
    }
  }
  return Status::ok();
}

Status FailPoint::act() {
  const Action action = action_.load(std::memory_order_acquire);
  if (action == Action::None || countdown_.fetch_sub(1, std::memory_order_relaxed) != 1) return Status::ok();
  action_.store(Action::None, std::memory_order_relaxed);
  switch (action) {
    case Action::None:
      break;
    case Action::Kill:
      // The signal may arrive a moment later in this thread than it was sent.
      ::kill(::getpid(), SIGKILL);
      for (;;) ::pause();
    case Action::Error:
      return Status::io_error("fail point " + std::string(name_));
    case Action::Delay:
      std::this_thread::sleep_for(kDelay);
      break;
    case Action::BadAlloc:
      throw std::bad_alloc();
  }
  return Status::ok();
}

}  // namespace nvmdb
