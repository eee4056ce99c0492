#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "tpcc/comparison.h"
#include "tpcc/report.h"
#include "tpcc/simulation.h"
#include "tpcc/trial.h"

namespace nvmdb::cli {
namespace {

Result<tpcc::TrialOptions> trial_options(const Arguments& arguments) {
  const TpccArguments& wanted = arguments.tpcc;
  tpcc::TrialOptions options;
  NVMDB_ASSIGN(options.configuration, tpcc::find_configuration(wanted.configuration));
  options.device_model = wanted.device_model;
  options.log_off = wanted.log_off;
  options.pool = arguments.pool;
  options.warehouses = wanted.warehouses;
  options.nvm_bytes = wanted.nvm_bytes;
  options.dram_bytes = wanted.dram_bytes;
  options.log_bytes = wanted.log_bytes;
  options.check = wanted.check;
  options.run.threads = wanted.threads;
  options.run.seconds = wanted.seconds;
  options.run.warmup_seconds = wanted.warmup_seconds;
  options.run.seed = wanted.seed;
  options.run.group = wanted.group;
  options.run.deck = wanted.deck;
  options.run.think = wanted.think;
  options.told = [](const char* what) { std::fprintf(stderr, "nvmdb tpcc: %s\n", what); };
  return options;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int run_kills(const tpcc::TrialOptions& options, std::uint32_t kills) {
  const auto report = tpcc::run_kill_loop(options, kills);
  if (!report.is_ok()) {
    tell_error(report.status());
    return kFailed;
  }
  print(std::to_string(report->kills) + " kills: all conditions hold after each; all " +
        std::to_string(report->acknowledged) + " acknowledged writes were found again\n");
  return kDone;
}

/// 1, 2, 4, ... and `most` itself.
std::vector<std::uint32_t> thread_steps(std::uint32_t most) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t threads = 1; threads < most; threads *= 2) steps.push_back(threads);
  steps.push_back(most);
  return steps;
}

/// Draws the panels when a plot is asked for.
int draw(const Arguments& arguments, const std::string& title, const std::vector<tpcc::PlotPanel>& panels) {
  if (arguments.tpcc.plot.empty()) return kDone;
  const Status drawn = tpcc::write_png_plot(arguments.tpcc.plot, title, panels);
  if (drawn.is_ok()) return kDone;
  tell_error(drawn);
  return kFailed;
}

tpcc::ComparisonOptions comparison_options(const tpcc::TrialOptions& trial, const TpccArguments& wanted) {
  tpcc::ComparisonOptions options;
  options.trial = trial;
  options.ssd = wanted.ssd;
  options.rounds = wanted.rounds;
  return options;
}

int run_comparison(const tpcc::TrialOptions& trial, const Arguments& arguments) {
  tpcc::ComparisonOptions options = comparison_options(trial, arguments.tpcc);
  options.threads = thread_steps(arguments.tpcc.threads);
  const auto comparison = tpcc::compare(options);
  if (!comparison.is_ok()) {
    tell_error(comparison.status());
    return exit_code_of(comparison.status().code());
  }
  print(arguments.format == Format::Json ? tpcc::comparison_json(*comparison) : tpcc::comparison_text(*comparison));
  const std::string model = comparison->model.empty() ? "" : ", nvm modelled: " + comparison->model;
  return draw(arguments, "TPC-C, " + std::to_string(comparison->warehouses) + " warehouses" + model,
              tpcc::comparison_panels(*comparison));
}

Result<tpcc::Simulation> simulated(const tpcc::TrialOptions& trial, const TpccArguments& wanted) {
  const std::string device = trial.device_model.empty() ? "optane-6x128" : trial.device_model;
  NVMDB_ASSIGN(const storage::DevicePreset preset, storage::find_preset(device));
  tpcc::ComparisonOptions options = comparison_options(trial, wanted);
  options.trial.device_model.clear();
  options.threads = {1, 2};
  NVMDB_ASSIGN(const tpcc::DeviceTimes times, tpcc::measure_device_times(trial.pool, wanted.ssd));
  NVMDB_ASSIGN(const tpcc::Comparison measured, tpcc::compare(options));
  return tpcc::simulate_server(measured, times, preset);
}

int run_simulation(const tpcc::TrialOptions& trial, const Arguments& arguments) {
  const auto simulation = simulated(trial, arguments.tpcc);
  if (!simulation.is_ok()) {
    tell_error(simulation.status());
    return exit_code_of(simulation.status().code());
  }
  print(tpcc::simulation_text(*simulation));
  return draw(arguments, "TPC-C, SIMULATED: " + simulation->server.name, tpcc::simulation_panels(*simulation));
}

}  // namespace

int run_tpcc(const Arguments& arguments) {
  const auto options = trial_options(arguments);
  if (!options.is_ok()) {
    tell_error(options.status());
    return kWrongUsage;
  }
  if (arguments.tpcc.compare) return run_comparison(*options, arguments);
  if (arguments.tpcc.simulate) return run_simulation(*options, arguments);
  if (arguments.tpcc.kills > 0) return run_kills(*options, arguments.tpcc.kills);
  const auto result = tpcc::run_trial(*options);
  if (!result.is_ok()) {
    tell_error(result.status());
    return exit_code_of(result.status().code());
  }
  print(arguments.format == Format::Json ? tpcc::report_json(*options, *result) : tpcc::report_text(*options, *result));
  if (!result->check || result->check->passed()) return kDone;
  tell_error("tpcc: " + result->check->first_violation());
  return kFailed;
}

}  // namespace nvmdb::cli
