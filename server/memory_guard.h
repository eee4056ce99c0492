#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "storage/base/status.h"

namespace nvmdb::server {

/// Runs `answer`, which returns a Status. Memory that cannot be had fails the request, not the server: what
/// the request held is free again when this returns.
template <class Answer>
[[nodiscard]] Status within_memory(Answer&& answer) {
  constexpr const char* kWords = "the server has no memory for this; try again later, or ask for less";
  try {
    return std::forward<Answer>(answer)();
  } catch (const std::bad_alloc&) {
    return Status::overloaded(kWords);
  } catch (const std::length_error&) {
    return Status::overloaded(kWords);
  }
}

}  // namespace nvmdb::server
