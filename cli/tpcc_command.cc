#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "tpcc/report.h"
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

}  // namespace

int run_tpcc(const Arguments& arguments) {
  const auto options = trial_options(arguments);
  if (!options.is_ok()) {
    tell_error(options.status());
    return kWrongUsage;
  }
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
