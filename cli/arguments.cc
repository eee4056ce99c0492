#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/values.h"
#include "server/host_port.h"
#include "server/version.h"
#include "storage/base/size_text.h"
#include "storage/device/device_model.h"
#include "storage/device/placement.h"

namespace nvmdb::cli {
namespace {

constexpr std::uint64_t kDramBytesMin = 16ULL << 20U;

/// The text itself, when it is an address.
Result<std::string> host_port(const std::string& text) {
  const Result<server::HostPort> parsed = server::parse_host_port(text);
  if (!parsed.is_ok()) return parsed.status();
  return text;
}

/// Turns a parse function that returns a Result into an option of CLI11, which wants exceptions.
template <class Parse, class Store>
std::function<void(const std::string&)> checked(Parse parse, Store store) {
  return [parse, store](const std::string& text) {
    auto value = parse(text);
    if (!value.is_ok()) throw CLI::ValidationError(value.status().message());
    store(std::move(value).value());
  };
}

/// Accepts what `parse` accepts.
template <class Parse>
std::function<std::string(const std::string&)> known_by(Parse parse) {
  return [parse](const std::string& text) { return parse(text).is_ok() ? "" : parse(text).status().message(); };
}

/// One line for a name that is nearly right: the known name with the least edits, when that is at most two.
std::string closest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_edits = 3;
  for (const std::string& name : known) {
    std::vector<std::size_t> row(name.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j < row.size(); ++j) {
        const std::size_t change = diagonal + (word[i - 1] == name[j - 1] ? 0 : 1);
        diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
      }
    }
    if (row.back() < best_edits) {
      best_edits = row.back();
      best = name;
    }
  }
  return best;
}

class Parser {
 public:
  Parser() : app_("NVMDB: numerical-weather-prediction output in non-volatile memory.", "nvmdb") {
    app_.set_version_flag("--version", std::string("nvmdb ") + server::kVersion);
    app_.require_subcommand(1);
    app_.footer(
        "Examples:\n"
        "  nvmdb serve --pool /data/pool\n"
        "  nvmdb ingest wrfout_d01_2024-01-15_00:00:00\n"
        "  nvmdb series --param T2 --at 30.5,114.3\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partly done, 4 timed out, 5 server not reachable,\n"
        "            6 refused, 7 nothing matches.\n"
        "`nvmdb COMMAND --help` tells more of each command.");
    add_serve();
    add_ingest();
    add_watch();
    add_listing(Command::Models, "models", "Models and domains that are stored",
                "nvmdb models --format json");
    add_listing(Command::Runs, "runs", "Runs that are stored, newest first", "nvmdb runs --model wrf");
    add_listing(Command::Params, "params", "Parameters of a run, with levels and steps",
                "nvmdb params --model wrf --run 2024-01-15T00Z");
    add_listing(Command::Steps, "steps", "Steps of a run, or of a parameter", "nvmdb steps --param T2");
    add_listing(Command::Grid, "grid", "Grids of a run", "nvmdb grid --model wrf --format json");
    add_slab();
    add_series();
    add_profile();
    add_section();
    add_drop();
    add_info();
    add_events();
    add_check();
    add_calibrate();
    add_tpcc();
  }

  ParseOutcome parse(int argc, const char* const* argv) {
    ParseOutcome outcome;
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& success) {
      outcome.exit_code = app_.exit(success, std::cout, std::cerr);
      outcome.done = true;
    } catch (const CLI::ParseError& error) {
      std::cerr << "nvmdb: " << explain(error, argc, argv) << '\n';
      outcome.exit_code = kWrongUsage;
      outcome.done = true;
    }
    if (!outcome.done && arguments_.command == Command::Series && arguments_.points.empty()) {
      std::cerr << "nvmdb: --at or --points is required; see `nvmdb series --help`\n";
      outcome.exit_code = kWrongUsage;
      outcome.done = true;
    }
    if (!outcome.done && !arguments_.pool.empty() && server_given_ && arguments_.command != Command::Serve) {
      std::cerr << "nvmdb: --server and --pool exclude each other: ask a server, or open the pool in this "
                   "process\n";
      outcome.exit_code = kWrongUsage;
      outcome.done = true;
    }
    outcome.arguments = std::move(arguments_);
    return outcome;
  }

 private:
  CLI::App* command(Command which, const std::string& name, const std::string& description,
                    const std::string& example) {
    CLI::App* sub = app_.add_subcommand(name, description);
    sub->footer("Example:\n  " + example);
    sub->callback([this, which] { arguments_.command = which; });
    commands_[name] = sub;
    return sub;
  }

  std::string explain(const CLI::ParseError& error, int argc, const char* const* argv) const {
    std::string text = error.what();
    std::ranges::replace(text, '\n', ' ');
    const CLI::App* sub = nullptr;
    if (argc > 1) {
      const auto found = commands_.find(argv[1]);
      if (found != commands_.end()) sub = found->second;
    }
    if (sub == nullptr) {
      std::vector<std::string> names;
      for (const auto& [name, known] : commands_) names.push_back(name);
      if (argc > 1 && argv[1][0] != '-') {
        text = std::string("no command \"") + argv[1] + "\"";
        if (const std::string near = closest(argv[1], names); !near.empty())
          text += "; did you mean " + near + "?";
      }
      return text + "; `nvmdb --help` lists the commands";
    }
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      if (!word.starts_with("--") || sub->get_option_no_throw(word.substr(0, word.find('='))) != nullptr)
        continue;
      std::vector<std::string> names;
      for (const CLI::Option* option : sub->get_options()) names.push_back(option->get_name());
      if (const std::string near = closest(word, names); !near.empty())
        text += "; did you mean " + near + "?";
      break;
    }
    return text + "; see `nvmdb " + sub->get_name() + " --help`";
  }

  void add_place(CLI::App* sub, const char* timeout = "Seconds to wait for an answer (default: 60)") {
    const char* environment = std::getenv("NVMDB_SERVER");
    arguments_.server = environment != nullptr && *environment != '\0' ? environment : "localhost:50051";
    sub->add_option_function<std::string>(
           "--server", checked(host_port, [this](const std::string& text) {
             arguments_.server = text;
             server_given_ = true;
           }),
           "Server to ask (default: $NVMDB_SERVER, else localhost:50051)")
        ->type_name("HOST:PORT");
    sub->add_option("--pool", arguments_.pool, "Open this pool in the process; no server is needed")
        ->type_name("DIR");
    sub->add_option("--timeout", arguments_.timeout_seconds, timeout)->check(CLI::Range(1, 86400));
  }

  void add_output(CLI::App* sub, bool netcdf) {
    std::map<std::string, Format> formats = {
        {"text", Format::Text}, {"csv", Format::Csv}, {"json", Format::Json}};
    if (netcdf) formats["netcdf"] = Format::Netcdf;
    sub->add_option_function<std::string>(
           "--format",
           [this, formats](const std::string& text) {
             const auto found = formats.find(text);
             std::string known;
             for (const auto& [name, format] : formats) known += (known.empty() ? "" : ", ") + name;
             if (found == formats.end())
               throw CLI::ValidationError("--format: \"" + text + "\" is none of " + known);
             arguments_.format = found->second;
           },
           "Output format (default: text on a terminal, csv on a pipe)")
        ->type_name(netcdf ? "text|csv|json|netcdf" : "text|csv|json");
    sub->add_option("-o,--output", arguments_.output, "Write to this file")->type_name("FILE");
  }

  void add_run(CLI::App* sub) {
    query::Selection& selection = arguments_.selection;
    sub->add_option("--model", selection.model, "Only this model");
    sub->add_option("--domain", selection.domain, "Only this domain");
    sub->add_option("--expver", selection.version, "Only this experiment version");
    sub->add_option_function<std::string>(
           "--run",
           checked(parse_run, [&selection](std::optional<met::UnixSeconds> run) { selection.run = run; }),
           "Run (default: the newest that has what is asked)")
        ->type_name("latest|TIME");
  }

  void add_field(CLI::App* sub, bool required) {
    query::Selection& selection = arguments_.selection;
    CLI::Option* parameter =
        sub->add_option("--param", selection.parameter, "Parameter, as the file names it");
    if (required) parameter->required();
    sub->add_option("--level-type", selection.level_type,
                    "surface, heightAboveGround, isobaricInhPa, eta, soil, ...");
    sub->add_option_function<std::string>("--level",
                                          checked(parse_level,
                                                  [&selection](const LevelText& level) {
                                                    selection.level = level.value;
                                                    selection.level_bottom = level.bottom;
                                                  }),
                                          "Level such as 500, or layer such as 0-0.1")
        ->type_name("LEVEL");
    sub->add_option_function<std::uint32_t>(
        "--member", [&selection](std::uint32_t member) { selection.member = member; }, "Ensemble member");
  }

  void add_time(CLI::App* sub) {
    query::Selection& selection = arguments_.selection;
    CLI::Option* step = sub->add_option_function<std::string>(
        "--step",
        checked([](const std::string& text) { return met::parse_step(text); },
                [&selection](const met::StepSelector& selector) { selection.step = selector; }),
        "Step after the reference time: 6, 6h, 90m, 0-6h, all");
    step->type_name("STEP");
    sub->add_option_function<std::string>(
           "--valid",
           checked([](const std::string& text) { return met::parse_time(text); },
                   [&selection](met::UnixSeconds time) { selection.valid_time = time; }),
           "Valid time instead of a step")
        ->type_name("TIME")
        ->excludes(step);
    sub->add_option("--units", arguments_.units, "Convert to these units (udunits names, such as degC)");
  }

  void add_interpolation(CLI::App* sub) {
    sub->add_option_function<std::string>(
           "--interp",
           [this](const std::string& text) {
             if (text != "nearest" && text != "bilinear") {
               throw CLI::ValidationError("--interp: \"" + text + "\" is none of nearest, bilinear");
             }
             arguments_.interpolation =
                 text == "bilinear" ? query::Interpolation::Bilinear : query::Interpolation::Nearest;
           },
           "Between grid points (default: nearest)")
        ->type_name("nearest|bilinear");
  }

  /// Heights of a profile or section; without them its levels are those of the run.
  void add_vertical(CLI::App* sub) {
    const auto take = [this](query::Vertical vertical) {
      return [this, vertical](const std::vector<double>& levels) {
        arguments_.vertical = vertical;
        arguments_.levels = levels;
      };
    };
    CLI::Option* pressure =
        sub->add_option_function<std::vector<double>>("--pressure", take(query::Vertical::Pressure),
                                                      "Interpolated to these pressures in hPa: 1000,850,500")
            ->type_name("LIST")
            ->delimiter(',')
            ->allow_extra_args(false);
    sub->add_option_function<std::vector<double>>("--height", take(query::Vertical::Height),
                                                  "Interpolated to these heights above sea level in m")
        ->type_name("LIST")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(pressure);
  }

  CLI::Option* add_point(CLI::App* sub, const char* name, const char* description) {
    return sub
        ->add_option_function<std::string>(
            name, checked(parse_point, [this](const query::Point& point) { arguments_.points.push_back(point); }),
            description)
        ->type_name("LAT,LON")
        ->required();
  }

  void add_serve() {
    CLI::App* sub = command(Command::Serve, "serve", "Run the server",
                            "nvmdb serve --pool /data/pool --nvm 16GiB --listen 127.0.0.1:50051");
    ServeArguments& serve = arguments_.serve;
    sub->add_option("--pool", arguments_.pool, "Directory of the pool; created when it does not exist")
        ->type_name("DIR");
    sub->add_flag("--no-create", serve.no_create, "Refuse to create a pool");
    const auto size = [](const std::string& text) { return parse_size(text); };
    const auto dram_size = [](const std::string& text) -> Result<std::uint64_t> {
      NVMDB_ASSIGN(const std::uint64_t bytes, parse_size(text));
      if (bytes < kDramBytesMin) {
        return Status::invalid_argument("--dram " + text + " is too little, the least is " + format_size(kDramBytesMin));
      }
      return bytes;
    };
    sub->add_option_function<std::string>(
           "--dram", checked(dram_size, [&serve](std::uint64_t bytes) { serve.dram_bytes = bytes; }),
           "DRAM to use (default: 512MiB)")
        ->type_name("SIZE");
    sub->add_option_function<std::string>(
           "--nvm", checked(size, [&serve](std::uint64_t bytes) { serve.nvm_bytes = bytes; }),
           "Size of a new pool (default: 4GiB)")
        ->type_name("SIZE");
    sub->add_option_function<std::string>(
           "--listen", checked(host_port, [&serve](const std::string& text) { serve.listen = text; }),
           "Address (default: 127.0.0.1:50051); port 0 takes a free one")
        ->type_name("HOST:PORT");
    sub->add_flag("--insecure-listen", serve.insecure_listen,
                  "Allow an address beyond this machine; there is no encryption and no access control");
    sub->add_option("--ingest-root", serve.ingest_roots,
                    "Directory from which clients may have files ingested by path")
        ->type_name("DIR")
        ->allow_extra_args(false);
    sub->add_option_function<std::uint64_t>(
           "--ingest-workers", [&serve](std::uint64_t count) { serve.ingest_workers = count; },
           "Processes that decode files (default: 2)")
        ->check(CLI::Range(1, 64));
    sub->add_option_function<std::string>(
           "--scrub-rate", checked(size, [&serve](std::uint64_t bytes) { serve.scrub_bytes_per_second = bytes; }),
           "Bytes a second that the background check of what is stored may read (default: 64MiB); 0MiB: none")
        ->type_name("SIZE");
    sub->add_option("--placement", serve.placement,
                    "Where log writers, workers and ingest threads run (default: none)")
        ->type_name("compact|scatter|none")
        ->check(known_by(storage::parse_placement));
    sub->add_option("--device-model", serve.device_model,
                    "Add the delays of this device (optane-6x128, nvdimm, cxl); all figures are then modelled")
        ->type_name("NAME")
        ->check(known_by(storage::find_preset));
    sub->add_option("--config", serve.config, "TOML file with the same names; flags win")->type_name("FILE");
  }

  void add_ingest() {
    CLI::App* sub = command(Command::Ingest, "ingest", "Store NetCDF (wrfout) and GRIB files",
                            "nvmdb ingest --model wrf wrfout_d01_2024-01-15_00:00:00");
    add_place(sub, "Seconds that each file may take (default: no limit)");
    sub->add_option("FILE", arguments_.files, "Files to store")->required();
    sub->add_option("--model", arguments_.ingest_model, "Model name (default: as the file says)");
    sub->add_option("--domain", arguments_.ingest_domain, "Domain name (default: as the file says)");
    sub->add_flag("--server-path", arguments_.server_path,
                  "FILE is a path on the server, under its --ingest-root");
    sub->add_flag_callback(
        "--json", [this] { arguments_.format = Format::Json; }, "Report as JSON lines");
  }

  void add_watch() {
    CLI::App* sub = command(Command::Watch, "watch",
                            "Store the files of a directory as they become complete, until stopped",
                            "nvmdb watch /data/wrf/run --pattern 'wrfout_d0*' --model wrf");
    add_place(sub);
    WatchArguments& watch = arguments_.watch;
    sub->add_option("DIR", watch.directory, "Directory that a model writes into")->required();
    sub->add_option("--pattern", watch.pattern,
                    "Names of the files (default: all; a flag file wrfoutReady_d01_DATE always counts)")
        ->type_name("GLOB");
    sub->add_option("--model", arguments_.ingest_model, "Model name (default: as the file says)");
    sub->add_option("--domain", arguments_.ingest_domain, "Domain name (default: as the file says)");
    sub->add_option("--quiet", watch.quiet_seconds,
                    "A file that nobody was seen to close is complete after so many seconds without a change "
                    "(default: 10)")
        ->check(CLI::Range(0, 86400))
        ->type_name("SECONDS");
    sub->add_option("--journal", watch.journal, "Where it is kept what was dealt with (default: DIR/.nvmdb-watch)")
        ->type_name("FILE");
    sub->add_flag("--once", watch.once, "Store what is complete now, then end");
    sub->add_flag("-n,--dry-run", watch.dry_run, "List the files and whether they are complete; store nothing");
    sub->add_flag_callback(
        "--json", [this] { arguments_.format = Format::Json; }, "Report as JSON lines");
  }

  void add_listing(Command which, const std::string& name, const std::string& description,
                   const std::string& example) {
    CLI::App* sub = command(which, name, description, example);
    add_place(sub);
    add_run(sub);
    if (which != Command::Models && which != Command::Runs) add_field(sub, false);
    add_output(sub, false);
    sub->add_flag_callback(
        "--json", [this] { arguments_.format = Format::Json; }, "Same as --format json");
  }

  void add_slab() {
    CLI::App* sub = command(Command::Slab, "slab", "A map: values over a box",
                            "nvmdb slab --param T2 --step 6h --bbox 110,28,118,33");
    add_place(sub);
    add_run(sub);
    add_field(sub, true);
    add_time(sub);
    sub->add_option_function<std::string>(
           "--bbox", checked(parse_box, [this](const query::Box& box) { arguments_.box = box; }),
           "Box in degrees (default: the whole grid); W > E crosses the date line")
        ->type_name("W,S,E,N");
    sub->add_flag("--clip", arguments_.clip, "Make points of the window outside the box missing");
    add_output(sub, true);
  }

  void add_series() {
    CLI::App* sub = command(Command::Series, "series", "A time series: values at points",
                            "nvmdb series --param T2 --at 30.5,114.3 --at -12.1,-77.0");
    add_place(sub);
    add_run(sub);
    add_field(sub, true);
    add_time(sub);
    sub->add_option_function<std::vector<std::string>>(
           "--at",
           [this](const std::vector<std::string>& texts) {
             for (const std::string& text : texts) {
               const auto point = parse_point(text);
               if (!point.is_ok()) throw CLI::ValidationError("--at: " + point.status().message());
               arguments_.points.push_back(*point);
             }
           },
           "Point in degrees; may be given again")
        ->type_name("LAT,LON")
        ->allow_extra_args(false);
    sub->add_option_function<std::string>(
           "--points", checked(read_points,
                               [this](const std::vector<query::Point>& points) {
                                 arguments_.points.insert(arguments_.points.end(), points.begin(), points.end());
                               }),
           "File of many points: LAT,LON in each line")
        ->type_name("FILE");
    add_interpolation(sub);
    add_output(sub, true);
  }

  void add_profile() {
    CLI::App* sub = command(Command::Profile, "profile", "Values above a point",
                            "nvmdb profile --param T --level-type eta --step 6h --at 30.5,114.3");
    add_place(sub);
    add_run(sub);
    add_field(sub, true);
    add_time(sub);
    add_point(sub, "--at", "Point in degrees");
    add_interpolation(sub);
    add_vertical(sub);
    add_output(sub, true);
  }

  void add_section() {
    CLI::App* sub = command(Command::Section, "section", "Values above the great circle between two points",
                            "nvmdb section --param T --step 6h --from 30,110 --to 32,118 --pressure 1000,850,700,500");
    add_place(sub);
    add_run(sub);
    add_field(sub, true);
    add_time(sub);
    add_point(sub, "--from", "Where it begins, in degrees");
    add_point(sub, "--to", "Where it ends, in degrees");
    sub->add_option("--points", arguments_.section_points, "Points at equal distances, both ends among them (default: 50)")
        ->check(CLI::Range(2, 10'000));
    add_interpolation(sub);
    add_vertical(sub);
    add_output(sub, true);
  }

  void add_drop() {
    CLI::App* sub = command(Command::Drop, "drop", "Remove a run", "nvmdb drop wrf/d01/2024-01-15T00Z");
    add_place(sub);
    sub->add_option("--model", arguments_.selection.model, "Model of the run");
    sub->add_option("--domain", arguments_.selection.domain, "Domain of the run");
    sub->add_option("--expver", arguments_.selection.version, "Experiment version of the run");
    sub->add_option_function<std::string>(
           "RUN",
           [this](const std::string& text) {
             if (const Status status = parse_run_name(text, arguments_.selection); !status.is_ok()) {
               throw CLI::ValidationError("RUN: " + status.message());
             }
           },
           "Time of the run, or MODEL/DOMAIN/TIME")
        ->required();
    sub->add_flag("-y,--yes", arguments_.yes, "Do not ask on a terminal");
  }

  void add_info() {
    CLI::App* sub = command(Command::Info, "info", "Pool, device, durability, memory and NVM use, log state",
                            "nvmdb info");
    add_place(sub);
    add_output(sub, false);
    sub->add_flag_callback(
        "--json", [this] { arguments_.format = Format::Json; }, "Same as --format json");
  }

  void add_tpcc() {
    CLI::App* sub = command(Command::Tpcc, "tpcc", "Run the TPC-C benchmark on a pool of its own",
                            "nvmdb tpcc --pool /dev/shm/tpcc --warehouses 2 --threads 2 --seconds 10 --check");
    TpccArguments& tpcc = arguments_.tpcc;
    sub->add_option("--pool", arguments_.pool, "Directory of the pool; created and loaded when it does not exist")
        ->type_name("DIR")
        ->required();
    sub->add_option("--config", tpcc.configuration, "Which database (default: nvmdb)")
        ->check(CLI::IsMember({"nvmdb", "mmdb-ssd", "mmdb-nvm", "dram-only", "volatile-nvm"}));
    sub->add_option("--device-model", tpcc.device_model, "Give the pool's memory the delays of a device: optane-6x128")
        ->type_name("NAME");
    sub->add_option("--warehouses", tpcc.warehouses, "Warehouses (default: 1)")->check(CLI::Range(1, 32767));
    sub->add_option("--threads", tpcc.threads, "Worker threads (default: 1)")->check(CLI::Range(1, 128));
    sub->add_option("--seconds,--duration", tpcc.seconds, "Seconds to measure (default: 10)")
        ->check(CLI::Range(0.01, 86400.0));
    sub->add_option("--warmup", tpcc.warmup_seconds, "Seconds before that (default: 1)")->check(CLI::Range(0.0, 3600.0));
    sub->add_option("--seed", tpcc.seed, "Seed of all random choices (default: 1)");
    sub->add_option("--group", tpcc.group, "Commits that a worker acknowledges together at most (default: 16)")
        ->check(CLI::Range(1, 4096));
    const auto size = [](const std::string& text) { return parse_size(text); };
    sub->add_option_function<std::string>(
           "--dram", checked(size, [&tpcc](std::uint64_t bytes) { tpcc.dram_bytes = bytes; }),
           "DRAM to use (default: 4GiB)")
        ->type_name("SIZE");
    sub->add_option_function<std::string>(
           "--nvm", checked(size, [&tpcc](std::uint64_t bytes) { tpcc.nvm_bytes = bytes; }),
           "Size of a new pool (default: 4GiB)")
        ->type_name("SIZE");
    const auto log_size = [](const std::string& text) -> Result<std::optional<std::uint64_t>> {
      if (text == "off") return std::optional<std::uint64_t>();
      NVMDB_ASSIGN(const std::uint64_t bytes, parse_size(text));
      return std::optional<std::uint64_t>(bytes);
    };
    sub->add_option_function<std::string>(
           "--log", checked(log_size, [&tpcc](std::optional<std::uint64_t> bytes) {
             tpcc.log_off = !bytes;
             if (bytes) tpcc.log_bytes = *bytes;
           }),
           "Size of the log at most (default: 512MiB); off: nothing is durable before a checkpoint")
        ->type_name("SIZE|off");
    sub->add_flag("--check", tpcc.check, "Check the consistency conditions after the run");
    sub->add_flag("--deck", tpcc.deck, "Deal transactions from shuffled decks instead of by weights");
    sub->add_flag("--think", tpcc.think, "Ten terminals per warehouse with keying and think times");
    sub->add_flag("--compare", tpcc.compare, "All configurations side by side, on pools of their own under --pool, with 1 to "
                  "--threads threads");
    sub->add_flag("--simulate", tpcc.simulate,
                  "Measure 1 and 2 threads of all configurations, then simulate 1 to 64 threads on a server with Optane");
    sub->add_option("--rounds", tpcc.rounds, "Rounds of a comparison (default: 3)")->check(CLI::Range(1, 1000));
    sub->add_option("--ssd", tpcc.ssd, "Where a comparison puts the pool of mmdb-ssd (default: /var/tmp)")->type_name("DIR");
    sub->add_option("--plot", tpcc.plot, "Draw a comparison into this file")->type_name("FILE.png");
    sub->add_option("--kills", tpcc.kills, "Instead: kill the run this many times and check after each recovery")
        ->check(CLI::Range(1, 100000));
    sub->add_flag_callback(
        "--json", [this] { arguments_.format = Format::Json; }, "Report as JSON");
  }

  void add_check() {
    CLI::App* sub = command(Command::Check, "check",
                            "Read a pool whole: every checksum and invariant. Changes nothing; 0: whole, 1: damaged",
                            "nvmdb check --pool /data/pool");
    sub->add_option("--pool", arguments_.pool, "Pool to check; no server may have it open")->type_name("DIR")->required();
    sub->add_flag_callback(
        "--json", [this] { arguments_.format = Format::Json; }, "Report as JSON");
  }

  void add_calibrate() {
    CLI::App* sub = command(Command::Calibrate, "calibrate",
                            "Measure the pool's device; choose and store the number of log writers and their block",
                            "nvmdb calibrate --pool /data/pool --archive /data/archive --plot device.svg");
    CalibrateArguments& calibrate = arguments_.calibrate;
    sub->add_option("--pool", arguments_.pool, "Pool to measure; no server may have it open")
        ->type_name("DIR")
        ->required();
    sub->add_option("--archive", calibrate.archive, "Measure the disk under this directory too")->type_name("DIR");
    sub->add_option("--plot", calibrate.plot, "Draw the sweep into this file")->type_name("FILE.svg");
    sub->add_option("--device-model", calibrate.device_model,
                    "Measure with the delays of this device; nothing is stored")
        ->type_name("NAME")
        ->check(known_by(storage::find_preset));
    sub->add_flag("--quick", calibrate.quick, "A few points only, for tests; nothing is stored");
    sub->add_flag("--no-store", calibrate.no_store, "Only measure");
    sub->add_flag_callback(
        "--json", [this] { arguments_.format = Format::Json; }, "Report as JSON");
  }

  void add_events() {
    CLI::App* sub =
        command(Command::Events, "events", "Tell what changes: steps stored or replaced, runs dropped",
                "nvmdb events --after 0 --follow");
    add_place(sub, "Seconds to go on at most, then exit with 4 (default: no limit)");
    sub->add_option_function<std::uint64_t>(
        "--after", [this](std::uint64_t after) { arguments_.after = after; },
        "Only events above this sequence number (default: from now on, and follow)");
    sub->add_option("--count", arguments_.count, "Stop after so many events");
    sub->add_flag("--follow", arguments_.follow,
                  "Wait for more when there are no more, also over a restart of the server");
    sub->add_option("--exec", arguments_.event_command,
                    "Run this for each event, with /bin/sh; $NVMDB_EVENT_MODEL, _RUN, _STEP_SECONDS, ... and a JSON "
                    "line on standard input tell which")
        ->type_name("COMMAND");
    sub->add_option("--post", arguments_.event_url, "Send each event there as a CloudEvent")->type_name("URL");
    sub->add_option("--state", arguments_.event_state,
                    "Keep the last event dealt with in this file, and go on after it")
        ->type_name("FILE");
    add_output(sub, false);
  }

  CLI::App app_;
  Arguments arguments_;
  bool server_given_ = false;
  std::map<std::string, CLI::App*> commands_;
};

}  // namespace

ParseOutcome parse_arguments(int argc, const char* const* argv) {
  return Parser().parse(argc, argv);
}

}  // namespace nvmdb::cli
