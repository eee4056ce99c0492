#include "tests/e2e/kill_loop/kill_loop.h"

#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "storage/nvm/pool.h"
#include "tests/support/fields/field_fixture.h"

namespace nvmdb::test {

namespace {

/// Each step that can be seen, by model; counts those of which fields are missing, and drops the runs.
void read_and_drop(Stack& stack, const InputFile& file, StepSet& visible, PoolFindings& findings) {
  const std::vector<engine::Run> runs = stack.catalogue->runs().value();
  for (const engine::Run& run : runs) {
    std::map<std::int64_t, std::uint32_t> good;
    {
      const engine::ReadView view = stack.store->view().value();
      const std::vector<engine::InventoryRow> inventory = stack.catalogue->inventory(run.id).value();
      for (const engine::InventoryRow& row : inventory) {
        const auto column = stack.store->column(
            view, {run.id, row.member, row.parameter, row.level_type, row.level, row.bottom});
        ASSERT_TRUE(column.is_ok()) << column.status().to_string();
        for (const engine::FieldRef& field : (*column)->fields) {
          const Status sound = stack.store->verify(view, field);
          EXPECT_TRUE(sound.is_ok()) << sound.to_string();
          if (sound.is_ok()) ++good[field.field.key.step.end_seconds];
        }
      }
    }
    const std::vector<engine::StepRow> steps = stack.catalogue->steps(run.id).value();
    for (const engine::StepRow& step : steps) {
      visible.emplace(run.key.model, step.end_seconds);
      if (good[step.end_seconds] != step.field_count || step.field_count != file.fields_per_step)
        ++findings.partial;
    }
    ASSERT_TRUE(stack.store->drop(run.id).is_ok());
  }
}

void compare(const Journal& journal, const StepSet& visible, PoolFindings& findings) {
  std::set<std::string> models;
  for (const auto& [model, step] : visible) models.insert(model);
  for (const auto& [model, step] : journal.steps) {
    if (visible.contains({model, step})) continue;
    if (!journal.drops_asked.contains(model)) {
      ++findings.lost;
      ADD_FAILURE() << "acknowledged and lost: " << model << " step " << step;
    } else if (models.contains(model)) {
      ++findings.partial;
      ADD_FAILURE() << "dropped in part: " << model << " step " << step;
    }
  }
  for (const auto& [model, step] : visible) {
    if (journal.drops_answered.contains(model)) {
      ++findings.resurrected;
      ADD_FAILURE() << "its drop was acknowledged, but it is there: " << model << " step " << step;
    }
    if (!journal.steps.contains({model, step})) ++findings.unacknowledged;
  }
}

}  // namespace

std::vector<InputFile> kill_loop_files() {
  return {{NVMDB_SOURCE_DIR "/tests/data/wrf_cropped.nc", 4, 81, "2008-10-26T12Z"},
          {NVMDB_SOURCE_DIR "/tests/data/Madagascar.wave.7days.grb", 27, 3, "2016-03-01T06Z"}};
}

void KillLoop::SetUp() {
  directory_ = std::filesystem::path("/dev/shm") / ("nvmdb-kill-loop-" + std::to_string(getpid()));
  std::filesystem::create_directories(directory_);
}

void KillLoop::TearDown() {
  std::filesystem::remove_all(directory_);
}

std::unique_ptr<ChildProcess> KillLoop::start_server(std::string& address, const std::string& armed) {
  std::vector<std::string> command;
  if (!armed.empty()) command = {"/usr/bin/env", "NVMDB_FAIL_POINT_ARM=" + armed};
  for (const std::string& word :
       {binary(), std::string("serve"), std::string("--pool"), pool().string(), std::string("--nvm"),
        std::string("192MiB"), std::string("--ingest-workers"), std::string("1"), std::string("--listen"),
        std::string("127.0.0.1:0")}) {
    command.push_back(word);
  }
  auto server = std::make_unique<ChildProcess>(command);
  address.clear();
  std::string line;
  const std::string mark = "listening on ";
  while (server->read_line(line)) {
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    address = line.substr(at + mark.size());
    address = address.substr(0, address.find(' '));
    break;
  }
  return server;
}

bool KillLoop::ingest(const std::string& address, const InputFile& file, const std::string& model,
                      Journal& journal) {
  ChildProcess client({binary(), "ingest", "--server", address, "--json", "--model", model, file.path});
  std::string line;
  while (client.read_line(line)) {
    const nlohmann::json said = nlohmann::json::parse(line, nullptr, false);
    if (said.is_discarded() || said.value("event", "") != "step") continue;
    journal.steps.emplace(said["model"].get<std::string>(), said["step_seconds"].get<std::int64_t>());
    ++acknowledged_now_;
  }
  return client.wait() == 0;
}

bool KillLoop::drop(const std::string& address, const InputFile& file, const std::string& model,
                    Journal& journal) {
  journal.drops_asked.insert(model);
  ChildProcess client(
      {binary(), "drop", "--server", address, "--model", model, "--yes", file.reference_time});
  if (client.wait() != 0) return false;
  journal.drops_answered.insert(model);
  return true;
}

void KillLoop::check_pool(const Journal& journal, const InputFile& file, PoolFindings& findings) {
  const auto opened_pool = storage::Pool::open(pool(), {});
  ASSERT_TRUE(opened_pool.is_ok()) << opened_pool.status().to_string();
  Result<Stack> opened = Stack::open(**opened_pool);
  ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
  Stack stack = std::move(*opened);
  StepSet visible;
  read_and_drop(stack, file, visible, findings);
  compare(journal, visible, findings);
}

}  // namespace nvmdb::test
