#include "tests/crash/engine/whole_engine.h"

#include <cstring>
#include <functional>
#include <string_view>
#include <thread>

#include "engine/database_state.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {

const MixedShape kMixedInDram{"rows in DRAM", 60, 45'000, 70};
const MixedShape kMixedInNvm{"rows in NVM", 0, 45'000, 70};

namespace {

constexpr engine::TableId kTable = 900;
constexpr std::uint64_t kKeys = 16;
constexpr std::uint64_t kJournal = 1000;
constexpr std::uint64_t kPoints = 120;
constexpr RecordedOptions kMedia{.pages = 20};
const std::vector<std::string> kParameters = {"T2", "U10"};

engine::DatabaseOptions options_of(const MixedShape& shape) {
  engine::DatabaseOptions options;
  options.dram_bytes = 10ULL << 20U;
  options.placement.tuple_percent = shape.tuple_percent;
  options.log.streams = 1;
  options.log.ring_bytes = 1ULL << 20U;
  options.log.log_bytes_max = 8ULL << 20U;
  options.log.writer_threads = false;
  options.recovery_threads = 1;
  options.checkpoint.space_percent_max = 100;
  options.checkpoint.spare_pages = 0;
  return options;
}

Result<Stack> open_stack(storage::PoolMedia& media, const MixedShape& shape) {
  return Stack::open(media, options_of(shape), {{kTable, "test rows", 1}});
}

/// A row that says what it is in every part, so that a mixture of two is seen.
Bytes large_row(std::uint64_t value, std::size_t bytes) {
  Bytes row(bytes);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) std::memcpy(row.data() + at, &value, 8);
  return row;
}

Status change_rows(Stack& stack, const MixedShape& shape, const MixedOperation& operation) {
  return stack.database->run_durable([&](engine::Transaction& t) -> Status {
    for (const auto& [key, value] : operation.rows) {
      if (value != 0) {
        NVMDB_TRY(t.put(kTable, index::make_key(key), large_row(value, key == kJournal ? 8 : shape.row_bytes)));
        continue;
      }
      const Status erased = t.erase(kTable, index::make_key(key));
      if (!erased.is_ok() && erased.code() != Code::NotFound) return erased;
    }
    return Status::ok();
  });
}

Status store_step(Stack& stack, const MixedOperation& operation) {
  NVMDB_ASSIGN(std::unique_ptr<engine::RunWriter> writer, stack.store->write(described_run(operation.model, 0)));
  NVMDB_ASSIGN(const engine::GridId grid, writer->grid(small_grid(12, 10)));
  float base = operation.base;
  for (const std::string& name : kParameters) {
    NVMDB_TRY(put_field(*writer, grid, kPoints, {.parameter = name, .step_seconds = operation.step, .base = base++}));
  }
  return writer->commit_step(operation.step).status();
}

Status run_operation(Stack& stack, const MixedShape& shape, const MixedOperation& operation) {
  switch (operation.kind) {
    case MixedOperation::Kind::Rows: return change_rows(stack, shape, operation);
    case MixedOperation::Kind::Step: return store_step(stack, operation);
    case MixedOperation::Kind::Drop: {
      NVMDB_ASSIGN(const engine::Run run, stack.catalogue->find_run({operation.model, "d01", 0, ""}));
      return stack.store->drop(run.id);
    }
    case MixedOperation::Kind::Checkpoint: {
      NVMDB_TRY(stack.database->checkpoint());
      stack.database->reclaim();
      return Status::ok();
    }
    default: return Status::ok();
  }
}

MixedContent content_after(const std::vector<MixedOperation>& operations, std::size_t count) {
  MixedContent content;
  for (std::size_t i = 0; i < count; ++i) {
    const MixedOperation& operation = operations[i];
    for (const auto& [key, value] : operation.rows) {
      if (value != 0) {
        content.rows[key] = value;
      } else {
        content.rows.erase(key);
      }
    }
    if (operation.kind == MixedOperation::Kind::Step) content.steps[operation.model][operation.step] = operation.base;
    if (operation.kind == MixedOperation::Kind::Drop) content.steps.erase(operation.model);
  }
  return content;
}

Status read_rows(Stack& stack, MixedContent& content) {
  return stack.database->run([&](engine::Transaction& t) -> Status {
    content.rows.clear();
    bool mixed = false;
    NVMDB_TRY(t.scan(kTable, index::make_key(0), index::make_key(~0ULL), [&](const index::Key& key, ByteSpan row) {
      std::uint64_t value = 0;
      std::memcpy(&value, row.data(), 8);
      for (std::size_t at = 0; at + 8 <= row.size(); at += 8) mixed = mixed || std::memcmp(row.data() + at, &value, 8) != 0;
      content.rows[key.words[0]] = value;
      return true;
    }));
    return mixed ? Status::corruption("a row is a mixture") : Status::ok();
  }).status();
}

/// Steps, each whole and with the right values.
Status read_steps(Stack& stack, MixedContent& content) {
  NVMDB_ASSIGN(const std::vector<engine::Run> runs, stack.catalogue->runs());
  NVMDB_ASSIGN(const engine::ReadView view, stack.store->view());
  for (const engine::Run& run : runs) {
    auto& steps = content.steps[run.key.model];
    for (std::size_t p = 0; p < kParameters.size(); ++p) {
      NVMDB_ASSIGN(const auto column, checked_column(stack, view, run.id, kParameters[p]));
      for (const engine::FieldRef& ref : column->fields) {
        std::vector<float> values(kPoints);
        ref.decoder().run(0, values);
        if (values != numbered_values(kPoints, values[0])) return Status::corruption("a field is a mixture");
        const float base = values[0] - static_cast<float>(p);
        const std::int64_t step = ref.field.key.step.end_seconds;
        if (p == 0) steps[step] = base;
        if (!steps.contains(step) || steps[step] != base) return Status::corruption("a step is visible in part");
      }
      if (column->fields.size() != steps.size()) return Status::corruption("a step lacks a parameter");
    }
  }
  return Status::ok();
}

/// The index is sound, and every page is free or has one owner.
Status check_structures(Stack& stack) {
  engine::Database::State& state = engine::EngineTestAccess::state(*stack.database);
  for (engine::TableId id = 0; id < state.tables.count(); ++id) {
    if (engine::Table* table = state.tables.find(id); table != nullptr) NVMDB_TRY(table->index->verify().status());
  }
  storage::PageAllocator& pages = stack.database->pages();
  std::uint64_t used = 0;
  pages.for_each([&](storage::PageId, storage::PageEntry) { ++used; });
  if (used + pages.free_pages() != pages.total_pages()) return Status::corruption("pages are lost");
  for (const engine::TuplePage* page : state.tuple_pages->pages()) {
    if (page->live_rows > page->used) return Status::corruption("a page has more live bytes than bytes");
  }
  return Status::ok();
}

Result<MixedContent> read_all(Stack& stack) {
  MixedContent content;
  NVMDB_TRY(read_rows(stack, content));
  NVMDB_TRY(read_steps(stack, content));
  NVMDB_TRY(check_structures(stack));
  return content;
}

/// What is done after a recovery, to see that it goes on.
std::vector<MixedOperation> more_operations(std::uint64_t value) {
  const auto rows = [&](std::uint64_t key, std::uint64_t v) {
    return MixedOperation{MixedOperation::Kind::Rows, {{key, v}, {kJournal, v}}, "", 0, 0};
  };
  return {rows(3, value + 1), rows(5, value + 2), {MixedOperation::Kind::Checkpoint, {}, "", 0, 0},
          {MixedOperation::Kind::Step, {}, "new", 0, static_cast<float>(value)}, rows(3, value + 3)};
}

/// Work goes on, and the next crash of the process loses nothing of it.
std::string go_on(RecordedMedia& media, Stack& stack, const MixedShape& shape, const std::vector<MixedOperation>& known) {
  std::vector<MixedOperation> all = known;
  for (const MixedOperation& operation : more_operations(1'000'000)) {
    if (const Status status = run_operation(stack, shape, operation); !status.is_ok()) {
      return "no work after recovery: " + status.to_string();
    }
    all.push_back(operation);
  }
  const auto after = copy_media(media, kMedia);
  auto again = open_stack(*after, shape);
  if (!again.is_ok()) return "second recovery failed: " + again.status().to_string();
  const auto found = read_all(*again);
  if (!found.is_ok()) return "reading after the second recovery failed: " + found.status().to_string();
  return *found == content_after(all, all.size()) ? "" : "the second recovery gives something else than the first";
}

}  // namespace

std::vector<MixedOperation> mixed_operations(const MixedShape& shape, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<MixedOperation> operations;
  bool other_run = false;
  for (std::uint64_t i = 1; operations.size() < shape.operations; ++i) {
    const std::uint64_t dice = random.below(100);
    MixedOperation operation;
    if (i % 7 == 0) {
      operation.kind = MixedOperation::Kind::Checkpoint;
    } else if (i % 29 == 0) {
      operation.kind = random.chance(0.5) ? MixedOperation::Kind::CleanRestart : MixedOperation::Kind::Crash;
    } else if (dice < 60) {
      operation.kind = MixedOperation::Kind::Rows;
      for (std::uint64_t n = 1 + random.below(3); n-- > 0;) {
        operation.rows.emplace_back(random.below(kKeys), random.chance(0.3) ? 0 : i * 10 + n + 1);
      }
      operation.rows.emplace_back(kJournal, i);
    } else if (dice < 90 || !other_run) {
      operation.kind = MixedOperation::Kind::Step;
      operation.model = random.chance(0.5) ? "wrf" : "gfs";
      other_run = other_run || operation.model == "gfs";
      operation.step = static_cast<std::int64_t>(random.below(4)) * 3600;
      operation.base = static_cast<float>(i * 100);
    } else {
      operation.kind = MixedOperation::Kind::Drop;
      operation.model = "gfs";
      other_run = false;
    }
    operations.push_back(std::move(operation));
  }
  return operations;
}

MixedRecording record_mixed(const MixedShape& shape, const std::vector<MixedOperation>& operations,
                            const std::vector<std::string>& drop_sites) {
  RecordedOptions media_options = kMedia;
  media_options.drop_sites = drop_sites;
  RecordedMedia media(media_options);
  MixedRecording result;
  // Databases whose process "crashed": nothing of them may run any more, and nobody may close them.
  std::vector<Stack> crashed;
  media.start_recording();
  std::optional<Stack> stack;
  const auto restart = [&]() -> Status {
    stack.reset();
    media.phase("open");
    NVMDB_ASSIGN(stack, open_stack(media, shape));
    return Status::ok();
  };
  Status status = restart();
  std::uint64_t segments = 0;
  for (std::size_t i = 0; i < operations.size() && status.is_ok(); ++i) {
    const MixedOperation& operation = operations[i];
    const bool restarts = operation.kind == MixedOperation::Kind::Crash || operation.kind == MixedOperation::Kind::CleanRestart;
    media.phase(restarts ? "restart" : operation.kind == MixedOperation::Kind::Checkpoint ? "checkpoint" : "work");
    if (operation.kind == MixedOperation::Kind::Crash) {
      crashed.push_back(std::move(*stack));
      stack.reset();
      status = restart();
    } else if (operation.kind == MixedOperation::Kind::CleanRestart) {
      status = restart();
    } else {
      // In a thread of its own: a fence of one thread does nothing for the stores of another, such as the opening's.
      std::thread([&] { status = run_operation(*stack, shape, operation); }).join();
    }
    if (status.is_ok()) {
      media.ack(i);
      const auto statistics = stack->database->statistics();
      result.pages_collected = std::max(result.pages_collected, statistics.checkpoint.pages_collected);
      if (statistics.log.segments < segments) ++result.segments_reused;
      segments = statistics.log.segments;
    }
  }
  if (!status.is_ok()) result.failure = status.to_string();
  // Closing stores too, and belongs to what is explored.
  media.phase("close");
  stack.reset();
  result.recording = media.take_recording();
  // Their destructors would go on storing.
  for (Stack& old : crashed) {
    static_cast<void>(old.store.release());
    static_cast<void>(old.catalogue.release());
    static_cast<void>(old.database.release());
  }
  return result;
}

namespace {

/// Cuts a recorded recovery, and the work behind it, at some points. `known`: the operations that are there.
std::string cut_recovery(const Recording& recovery, const MixedShape& shape, const std::vector<MixedOperation>& known,
                         const MixedNesting& nesting, std::size_t hash) {
  std::vector<MixedOperation> all = known;
  for (const MixedOperation& operation : more_operations(hash % 1000 + 1'000'000)) all.push_back(operation);
  CrashOptions few;
  few.seed = hash;
  few.states_max = nesting.states;
  few.random_points = 4;
  few.stop_at_failure = true;
  MixedNesting inside = nesting;
  --inside.depth;
  const CrashReport report = CrashStates(recovery, few).explore([&](CrashState& inner) {
    std::vector<std::uint64_t> acks(known.size());
    acks.insert(acks.end(), inner.acks.begin(), inner.acks.end());
    CrashState same{inner.media, acks, inner.phase, inner.token};
    return check_mixed(same, shape, all, inside);
  });
  return report.failures == 0 ? "" : "after a crash in recovery or soon after: " + report.first_failures.front().message;
}

}  // namespace

std::string check_mixed(CrashState& state, const MixedShape& shape, const std::vector<MixedOperation>& operations,
                        const MixedNesting& nesting) {
  const std::size_t hash = std::hash<std::string_view>{}(state.token);
  RecordedMedia& media = state.media;
  const bool nested = nesting.depth > 1 && hash % nesting.one_in == 0;
  if (nested) media.start_recording();
  Recording recovery;
  std::string wrong;
  std::vector<MixedOperation> known;
  {
    auto opened = open_stack(media, shape);
    if (!opened.is_ok()) {
      wrong = "recovery failed: " + opened.status().to_string();
    } else {
      Stack stack = std::move(opened).value();
      const auto content = read_all(stack);
      const std::size_t acknowledged = state.acks.size();
      if (!content.is_ok()) {
        wrong = "reading failed: " + content.status().to_string();
      } else if (*content == content_after(operations, acknowledged)) {
        known.assign(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(acknowledged));
      } else if (acknowledged < operations.size() && *content == content_after(operations, acknowledged + 1)) {
        known.assign(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(acknowledged) + 1);
      } else {
        wrong = "the content is neither that of " + std::to_string(acknowledged) + " operations nor of one more";
      }
      // Who is in the middle of work was not closed well.
      if (wrong.empty() && state.phase == "work" && !state.acks.empty() && stack.database->recovery().clean_shutdown) {
        wrong = "a pool in use says that it was closed cleanly";
      }
      if (wrong.empty() && nested) {
        std::uint64_t number = 0;
        media.phase("work");
        for (const MixedOperation& operation : more_operations(hash % 1000 + 1'000'000)) {
          const Status status = run_operation(stack, shape, operation);
          if (!status.is_ok()) wrong = "no work after recovery: " + status.to_string();
          media.ack(number++);
        }
        recovery = media.take_recording();
      } else if (wrong.empty() && hash % 16 == 1) {
        wrong = go_on(media, stack, shape, known);
      }
    }
  }
  if (nested && recovery.initial.empty()) static_cast<void>(media.take_recording());
  return wrong.empty() && nested ? cut_recovery(recovery, shape, known, nesting, hash) : wrong;
}

std::string lint_log_restart(const Recording& recording) {
  const auto is_from = [&](const Event& event, std::string_view file) {
    return recording.sites[event.site].find(file) != std::string::npos;
  };
  struct LogPage {
    bool written = false;           ///< by a session that is over
    bool written_now = false;       ///< by the session that runs
    bool flushed = false;           ///< whole, since the session began
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, LogPage> pages;
  LineModel model(FenceModel::PerThread);
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const Event& event = recording.events[i];
    if (event.kind == EventKind::Phase && event.name == "open") {
      for (auto& [place, page] : pages) page = {page.written || page.written_now, false, false};
    }
    const bool stores = event.kind == EventKind::Store || event.kind == EventKind::StoreNontemporal;
    const std::pair place{event.area, event.offset / storage::kPageBytes};
    if (event.kind == EventKind::Flush && event.bytes == storage::kPageBytes) pages[place].flushed = true;
    if (stores && is_from(event, "wal/stream_writer")) {
      LogPage& page = pages[place];
      if (page.written && !page.written_now) {
        if (!page.flushed) return "a segment is continued that was not made durable";
        for (const auto& [line, pending] : model.pending()) {
          if (line.area != event.area || line.line * kLineBytes / storage::kPageBytes != place.second) continue;
          return "a segment is continued while its end is not erased for sure";
        }
      }
      page.written_now = true;
    }
    // A page that becomes a new segment begins a new life.
    if (stores && is_from(event, "wal/log_space") && event.offset % storage::kPageBytes == 0) pages[place] = {};
    model.step(recording, i, [](LineId, std::uint8_t, std::uint64_t, std::uint64_t) {});
  }
  return "";
}

}  // namespace nvmdb::test
