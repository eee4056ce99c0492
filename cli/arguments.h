#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "query/request.h"
#include "storage/base/result.h"

namespace nvmdb::cli {

enum class Command : unsigned char {
  None,  ///< --help or --version was answered, or the arguments were wrong: see ParseOutcome
  Serve,
  Ingest,
  Watch,
  Models,
  Runs,
  Params,
  Steps,
  Grid,
  Slab,
  Series,
  Profile,
  Section,
  Drop,
  Info,
  Events,
  Calibrate,
  Check,
  Tpcc,
};

enum class Format : unsigned char { Text, Csv, Json, Netcdf };

struct ServeArguments {
  std::string config;
  std::optional<std::string> listen;
  std::optional<std::uint64_t> dram_bytes;
  std::optional<std::uint64_t> nvm_bytes;
  std::vector<std::filesystem::path> ingest_roots;
  std::optional<std::uint64_t> ingest_workers;
  std::optional<std::uint64_t> scrub_bytes_per_second;
  std::string placement;     ///< empty: as the configuration says, else none
  std::string device_model;  ///< empty: none
  bool no_create = false;
  bool insecure_listen = false;
};

struct CalibrateArguments {
  std::string archive;       ///< directory whose disk is measured too; empty: none
  std::string plot;          ///< SVG file; empty: none
  std::string device_model;  ///< empty: the device itself
  bool quick = false;
  bool no_store = false;
};

struct TpccArguments {
  std::string configuration = "nvmdb";
  std::string device_model;  ///< empty: none
  bool log_off = false;
  bool compare = false;
  bool simulate = false;
  std::uint32_t rounds = 3;
  std::string ssd = "/var/tmp";
  std::string plot;  ///< PNG file; empty: none
  std::uint32_t warehouses = 1;
  std::uint32_t threads = 1;
  double seconds = 10;
  double warmup_seconds = 1;
  std::uint64_t seed = 1;
  std::uint32_t group = 16;
  std::uint32_t kills = 0;  ///< 0: no loop of kills
  std::uint64_t dram_bytes = 4ULL << 30U;
  std::uint64_t nvm_bytes = 4ULL << 30U;
  std::uint64_t log_bytes = 512ULL << 20U;
  bool check = false;
  bool deck = false;
  bool think = false;
};

struct WatchArguments {
  std::string directory;
  std::string pattern = "*";
  std::string journal;  ///< empty: in the directory
  unsigned quiet_seconds = 10;
  bool once = false;
  bool dry_run = false;
};

/// What the command line says, checked as far as it can be without the database.
struct Arguments {
  Command command = Command::None;
  std::string server;  ///< HOST:PORT
  std::string pool;    ///< a directory: work on it in this process
  std::optional<unsigned> timeout_seconds;  ///< empty: 60; of ingest and events: none
  query::Selection selection;
  query::Interpolation interpolation = query::Interpolation::Nearest;
  std::string units;
  std::vector<query::Point> points;  ///< of a section: its two ends
  std::uint32_t section_points = 50;
  query::Vertical vertical = query::Vertical::Stored;
  std::vector<double> levels;  ///< in units of `vertical`
  std::optional<query::Box> box;
  bool clip = false;
  std::optional<Format> format;  ///< empty: text on a terminal, csv on a pipe
  std::string output;            ///< file; empty: standard output
  ServeArguments serve;
  CalibrateArguments calibrate;
  TpccArguments tpcc;
  WatchArguments watch;
  std::vector<std::string> files;
  std::string ingest_model;
  std::string ingest_domain;
  bool server_path = false;  ///< the files are paths on the server
  bool yes = false;
  std::optional<std::uint64_t> after;
  std::uint64_t count = 0;  ///< of events; 0: no end
  bool follow = false;
  std::string event_command;  ///< run for each event; empty: none
  std::string event_url;      ///< gets each event; empty: none
  std::string event_state;    ///< file that keeps the last event dealt with; empty: none
};

/// Outcome of reading the command line: arguments, or an exit code with everything said already.
struct ParseOutcome {
  Arguments arguments;
  int exit_code = 0;
  bool done = false;  ///< nothing is left to do but to exit
};

/// Reads the command line; answers --help and --version on stdout, wrong usage in one line on stderr.
[[nodiscard]] ParseOutcome parse_arguments(int argc, const char* const* argv);

}  // namespace nvmdb::cli
