#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "storage/base/check.h"
#include "storage/base/status.h"

namespace nvmdb {

/// A value of type T, or the Status that says why there is none (never an ok Status).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {  // NOLINT: implicit by design
    NVMDB_CHECK(!std::get<1>(state_).is_ok(), "a Result without a value needs a failed Status");
  }

  [[nodiscard]] bool is_ok() const { return state_.index() == 0; }
  /// Ok when a value is held.
  [[nodiscard]] Status status() const { return is_ok() ? Status::ok() : std::get<1>(state_); }

  [[nodiscard]] T& value() & {
    NVMDB_CHECK(is_ok(), "value() of a failed Result: " + std::get<1>(state_).to_string());
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const& {
    NVMDB_CHECK(is_ok(), "value() of a failed Result: " + std::get<1>(state_).to_string());
    return std::get<0>(state_);
  }
  /// By value, so that `for (auto& x : f().value())` does not iterate over what is gone.
  [[nodiscard]] T value() && { return std::move(value()); }

  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T operator*() && { return std::move(value()); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace nvmdb

#define NVMDB_ASSIGN_INNER(result, target, expression) \
  auto result = (expression);                          \
  if (!result.is_ok()) return result.status();         \
  target = std::move(result).value()
/// `NVMDB_ASSIGN(auto x, f());`: takes the value of a Result, or returns its Status from the enclosing function.
#define NVMDB_ASSIGN(target, expression) \
  NVMDB_ASSIGN_INNER(NVMDB_CONCAT(nvmdb_result_, __COUNTER__), target, expression)
