#pragma once

#include <optional>
#include <string>

#include "query/engine_state.h"
#include "query/selection.h"

namespace nvmdb::query {

/// Set by an attempt to answer that failed because the grid of the run does not hold the place asked.
struct Elsewhere {
  std::optional<engine::Run> run;
};

/// Answers with `attempt(request, elsewhere)`; where the run that it finds does not hold the place asked, with
/// the next run that fits the selection and does.
/// Errors: those of the first attempt; of a place that no run holds, with the run's name.
template <class Answer, class Request, class Attempt>
[[nodiscard]] Result<Answer> search_place(QueryEngine::State& state, const Request& request, Attempt attempt) {
  constexpr int kRunsTried = 64;
  Elsewhere first;
  Result<Answer> answer = attempt(request, first);
  if (answer.is_ok() || !first.run.has_value()) return answer;
  NVMDB_ASSIGN(const auto runs, state.store.catalogue().runs());
  int tried = 0;
  bool passed = false;
  for (const engine::Run& run : runs) {
    passed = passed || run.id == first.run->id;
    if (!passed || run.id == first.run->id || !fits(request.selection, run)) continue;
    if (++tried > kRunsTried) break;
    Request pinned = request;
    pinned.selection.model = run.key.model;
    pinned.selection.domain = run.key.domain;
    pinned.selection.run = run.key.reference_time;
    pinned.selection.version = run.key.version;
    Elsewhere again;
    Result<Answer> other = attempt(pinned, again);
    if (other.is_ok() || other.status().code() == Code::DeadlineExceeded) return other;
  }
  std::string message = answer.status().message() + "; of run " + engine::format_run(first.run->key);
  if (tried > 0) message += ", and no older one that has '" + request.selection.parameter + "' holds the place";
  return Status(answer.status().code(), message + "; choose another with --model, --domain or --run");
}

}  // namespace nvmdb::query
