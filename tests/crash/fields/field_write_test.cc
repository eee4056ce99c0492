// Goal: a step that was acknowledged is there, whole and with the right bytes, after a power cut at any moment; no
//       other step is visible in part; no page is lost or owned twice.
// Method: a recorded ingest of steps (new, replaced, dropped run) on two runs; the explorer cuts the power anywhere,
//       opens the whole stack on what is left and compares it with the journal of acknowledgements kept outside.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "tests/support/crash_states.h"
#include "tests/support/fields/field_fixture.h"
#include "tests/support/recorded_media.h"

namespace nvmdb {
namespace {

constexpr std::uint64_t kPoints = 600;
const std::vector<std::string> kParameters = {"T2", "U10", "V10"};

/// What operation `id` does; the journal of a client.
struct Operation {
  bool drop = false;
  std::string model;
  std::int64_t step = 0;
  float base = 0;
};

std::vector<Operation> operations() {
  std::vector<Operation> list;
  for (int i = 0; i < 5; ++i) list.push_back({false, "wrf", i * 3600, static_cast<float>(10 * i)});
  list.push_back({false, "gfs", 0, 500});
  list.push_back({false, "wrf", 3600, 900});  // replaces
  list.push_back({true, "gfs", 0, 0});
  list.push_back({false, "gfs", 0, 600});
  list.push_back({false, "wrf", 5 * 3600, 50});
  return list;
}

Status run_operation(test::Stack& stack, const Operation& operation) {
  if (operation.drop) {
    NVMDB_ASSIGN(const engine::Run run, stack.catalogue->find_run({operation.model, "d01", 0, ""}));
    return stack.store->drop(run.id);
  }
  NVMDB_ASSIGN(std::unique_ptr<engine::RunWriter> writer, stack.store->write(test::described_run(operation.model, 0)));
  NVMDB_ASSIGN(const engine::GridId grid, writer->grid(test::small_grid(30, 20)));
  float base = operation.base;
  for (const std::string& name : kParameters) {
    NVMDB_TRY(test::put_field(*writer, grid, kPoints, {.parameter = name, .step_seconds = operation.step, .base = base++}));
  }
  const Result<engine::StepAck> ack = writer->commit_step(operation.step);
  return ack.status();
}

/// model -> step -> base value.
using Content = std::map<std::string, std::map<std::int64_t, float>>;

Content content_after(const std::vector<Operation>& list, std::size_t count) {
  Content content;
  for (std::size_t i = 0; i < count; ++i) {
    if (list[i].drop) {
      content.erase(list[i].model);
    } else {
      content[list[i].model][list[i].step] = list[i].base;
    }
  }
  return content;
}

/// Reads everything back; a step that has not all parameters, or wrong bytes, is an error.
Result<Content> read_content(test::Stack& stack) {
  Content content;
  NVMDB_ASSIGN(const std::vector<engine::Run> runs, stack.catalogue->runs());
  NVMDB_ASSIGN(const engine::ReadView view, stack.store->view());
  for (const engine::Run& run : runs) {
    for (std::size_t p = 0; p < kParameters.size(); ++p) {
      NVMDB_ASSIGN(const auto column, test::checked_column(stack, view, run.id, kParameters[p]));
      for (const engine::FieldRef& ref : column->fields) {
        std::vector<float> values(kPoints);
        ref.decoder().run(0, values);
        const float base = values[0] - static_cast<float>(p);
        if (values != test::numbered_values(kPoints, values[0])) return Status::corruption("mixed values");
        const std::int64_t step = ref.field.key.step.end_seconds;
        if (p == 0) {
          content[run.key.model][step] = base;
        } else if (!content[run.key.model].contains(step) || content[run.key.model][step] != base) {
          return Status::corruption("step " + std::to_string(step) + " is visible in part");
        }
      }
      if (column->fields.size() != content[run.key.model].size()) return Status::corruption("a step lacks " + kParameters[p]);
    }
  }
  return content;
}

std::string check(test::CrashState& state, const std::vector<Operation>& list) {
  Result<test::Stack> stack = test::Stack::open(state.media);
  if (!stack.is_ok()) return "recovery failed: " + stack.status().to_string();
  const Result<Content> content = read_content(*stack);
  if (!content.is_ok()) return "reading failed: " + content.status().to_string();
  const std::size_t acknowledged = state.acks.size();
  const bool before = *content == content_after(list, acknowledged);
  const bool after = acknowledged < list.size() && *content == content_after(list, acknowledged + 1);
  if (!before && !after) return "content is neither that of " + std::to_string(acknowledged) + " operations nor of one more";
  // The next step can be stored, on pages that nobody else has.
  if (const Status status = run_operation(*stack, {false, "new", 0, 1}); !status.is_ok()) {
    return "a step after recovery failed: " + status.to_string();
  }
  const Result<Content> more = read_content(*stack);
  if (!more.is_ok()) return "reading after a new step failed: " + more.status().to_string();
  Content expected = *content;
  expected["new"][0] = 1;
  return *more == expected ? "" : "a new step changed others";
}

/// A recorded run of the whole journal, with the given flush and fence sites switched off.
test::Recording record(const std::vector<Operation>& list, const std::vector<std::string>& drop_sites) {
  test::RecordedMedia media({.pages = 24, .drop_sites = drop_sites});
  test::Stack stack = test::Stack::open(media).value();
  media.start_recording();
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_TRUE(run_operation(stack, list[i]).is_ok());
    media.ack(i);
  }
  return media.take_recording();
}

test::CrashReport explore(const std::vector<Operation>& list, const std::vector<std::string>& drop_sites,
                          std::uint64_t states_max) {
  const test::Recording recording = record(list, drop_sites);
  test::CrashStates states(recording, test::crash_options(states_max));
  return states.explore([&](test::CrashState& state) { return check(state, list); });
}

TEST(FieldWriteCrash, AcknowledgedStepsAreWholeAndNoOthersArePartlyThere) {
  const test::CrashReport report = explore(operations(), {}, 6000);
  std::printf("%s\n", report.to_string().c_str());
  EXPECT_EQ(report.failures, 0U);
  EXPECT_GT(report.states, 3000U);
}

TEST(FieldWriteCrash, FindsAMissingFenceBehindTheFieldBytes) {
  const std::vector<Operation> list = operations();
  std::size_t dropped = 0;
  for (const std::string& site : record(list, {}).fence_and_flush_sites) {
    if (site.find("engine/run_writer.cc") == std::string::npos) continue;
    const test::CrashReport report = explore(list, {site}, 6000);
    std::printf("without %s: %s\n", site.c_str(), report.to_string().c_str());
    EXPECT_GT(report.failures, 0U) << site;
    ++dropped;
  }
  EXPECT_GE(dropped, 1U);
}

}  // namespace
}  // namespace nvmdb
