#include "cli/commands.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "cli/answer_writer.h"
#include "cli/events_command.h"
#include "cli/exit_codes.h"
#include "cli/ingest_command.h"
#include "cli/listings.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/remote_client.h"
#include "cli/table.h"
#include "cli/watch_command.h"
#include "server/instance.h"
#include "server/local_client.h"

namespace nvmdb::cli {
namespace {

constexpr unsigned kTimeoutSeconds = 60;

/// A client and, when the pool is open in this process, what it works on.
struct Connection {
  std::unique_ptr<server::Instance> instance;
  std::unique_ptr<server::Client> client;
};

/// Questions are answered soon or not at all; a file or a watch takes as long as it takes.
std::optional<unsigned> timeout_of(const Arguments& arguments) {
  const bool endless = arguments.command == Command::Ingest || arguments.command == Command::Events;
  if (arguments.timeout_seconds || endless) return arguments.timeout_seconds;
  return kTimeoutSeconds;
}

Result<Connection> connect(const Arguments& arguments) {
  Connection connection;
  if (arguments.pool.empty()) {
    RemoteOptions options;
    options.address = arguments.server;
    options.timeout_seconds = timeout_of(arguments);
    options.server_path = arguments.server_path;
    NVMDB_ASSIGN(connection.client, make_remote_client(options));
    return connection;
  }
  server::InstanceOptions options;
  options.pool = arguments.pool;
  options.create = arguments.command == Command::Ingest;
  options.ingest.workers = 1;
  NVMDB_ASSIGN(connection.instance, server::Instance::open(options));
  connection.client = std::make_unique<server::LocalClient>(*connection.instance, timeout_of(arguments));
  return connection;
}

/// NetCDF is bytes that nobody reads on a screen. Errors: InvalidArgument.
Status check_destination(const Arguments& arguments, const Output& output) {
  if (arguments.format != Format::Netcdf || !output.is_terminal()) return Status::ok();
  return Status::invalid_argument("NetCDF is not for a terminal: name a file with --output, or redirect");
}

template <class Answer, class Write>
Status answer_into(const Arguments& arguments, const Result<Answer>& answer, Write write) {
  if (!answer.is_ok()) return answer.status();
  NVMDB_ASSIGN(Output output, Output::open(arguments.output));
  NVMDB_TRY(check_destination(arguments, output));
  NVMDB_TRY(write(*answer, output.format(arguments.format), output));
  return output.finish();
}

Status run_series(const Arguments& arguments, server::Client& client) {
  query::SeriesRequest request;
  request.selection = arguments.selection;
  request.points = arguments.points;
  request.interpolation = arguments.interpolation;
  request.units = arguments.units;
  return answer_into(arguments, client.series(request), write_series);
}

Status run_profile(const Arguments& arguments, server::Client& client) {
  query::ProfileRequest request;
  request.selection = arguments.selection;
  request.point = arguments.points[0];
  request.interpolation = arguments.interpolation;
  request.vertical = arguments.vertical;
  request.levels = arguments.levels;
  request.units = arguments.units;
  return answer_into(arguments, client.profile(request), write_profile);
}

Status run_section(const Arguments& arguments, server::Client& client) {
  query::SectionRequest request;
  request.selection = arguments.selection;
  request.from = arguments.points[0];
  request.to = arguments.points[1];
  request.points = arguments.section_points;
  request.interpolation = arguments.interpolation;
  request.vertical = arguments.vertical;
  request.levels = arguments.levels;
  request.units = arguments.units;
  return answer_into(arguments, client.section(request), write_section);
}

Status run_slab(const Arguments& arguments, server::Client& client) {
  query::SlabRequest request;
  request.selection = arguments.selection;
  request.box = arguments.box;
  request.clip = arguments.clip;
  request.units = arguments.units;
  const bool all = request.selection.step.has_value() && request.selection.step->all;
  // Opened with the first slab: a question without an answer leaves no file.
  std::optional<Output> output;
  std::optional<SlabWriter> writer;
  NVMDB_TRY(client.slabs(request, [&](const query::SlabAnswer& slab) -> Status {
    if (!output) {
      NVMDB_ASSIGN(Output opened, Output::open(arguments.output));
      output.emplace(std::move(opened));
      NVMDB_TRY(check_destination(arguments, *output));
      writer.emplace(output->format(arguments.format), *output);
    }
    return all ? writer->add(slab) : write_slab(slab, output->format(arguments.format), *output);
  }));
  if (!output) return Status::not_found("no step of '" + request.selection.parameter + "' is there any more");
  if (all) NVMDB_TRY(writer->finish());
  return output->finish();
}

Status run_drop(const Arguments& arguments, server::Client& client) {
  if (!arguments.yes && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1) {
    NVMDB_ASSIGN(const std::vector<engine::Run> runs, client.runs(arguments.selection));
    if (runs.size() == 1) {
      std::cerr << "drop " << one_line(engine::format_run(runs.front().key)) << " ("
                << runs.front().field_count << " fields)? [y/N] " << std::flush;
      std::string reply;
      std::getline(std::cin, reply);
      if (reply != "y" && reply != "Y" && reply != "yes") return Status::conflict("nothing was dropped");
    }
  }
  NVMDB_ASSIGN(const engine::Run run, client.drop(arguments.selection));
  std::cout << "dropped " << one_line(engine::format_run(run.key)) << ": " << run.field_count << " fields\n";
  return Status::ok();
}

Status run_listing(const Arguments& arguments, server::Client& client) {
  const query::Selection& selection = arguments.selection;
  switch (arguments.command) {
    case Command::Models:
      return answer_into(arguments, client.models(selection), write_models);
    case Command::Runs:
      return answer_into(arguments, client.runs(selection), write_runs);
    case Command::Params:
      return answer_into(arguments, client.parameters(selection), write_parameters);
    case Command::Steps:
      return answer_into(arguments, client.steps(selection), write_steps);
    case Command::Grid:
      return answer_into(arguments, client.grids(selection), write_grids);
    default:
      return answer_into(arguments, client.info(), write_info);
  }
}

Status run_question(const Arguments& arguments, server::Client& client) {
  switch (arguments.command) {
    case Command::Series:
      return run_series(arguments, client);
    case Command::Profile:
      return run_profile(arguments, client);
    case Command::Section:
      return run_section(arguments, client);
    case Command::Slab:
      return run_slab(arguments, client);
    case Command::Drop:
      return run_drop(arguments, client);
    default:
      return run_listing(arguments, client);
  }
}

}  // namespace

int run_command(const Arguments& arguments) {
  const auto connection = connect(arguments);
  if (!connection.is_ok()) {
    tell_error(connection.status());
    // A pool that is not there is a refusal, not an answer without matches.
    return connection.status().code() == Code::NotFound ? kRefused : exit_code_of(connection.status().code());
  }
  server::Client& client = *connection->client;
  if (arguments.command == Command::Ingest) return run_ingest(arguments, client);
  if (arguments.command == Command::Watch) return run_watch(arguments, client);
  if (arguments.command == Command::Events) return run_events(arguments, client);
  const Status status = run_question(arguments, client);
  if (status.is_ok()) return kDone;
  tell_error(status);
  return client.unreachable() ? kUnreachable : exit_code_of(status.code());
}

}  // namespace nvmdb::cli
