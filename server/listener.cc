#include "server/listener.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <utility>

#include "server/host_port.h"
#include "server/path_gate.h"
#include "server/services.h"
#include "server/watch_hub.h"
#include "server/work_pool.h"

namespace nvmdb::server {

// Declared in order of dependence: the gRPC server ends first, then the pools that finish its calls.
struct Listener::State {
  std::string address;
  std::unique_ptr<WatchHub> hub;
  std::unique_ptr<WorkPool> long_queries;
  std::unique_ptr<WorkPool> bulk;
  std::unique_ptr<WorkPool> ingests;
  std::unique_ptr<ServiceContext> context;
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<grpc::Server> server;
  bool drained = false;
};

namespace {

constexpr int kBulkNice = 5;

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// Why `address` cannot be listened on; gRPC only says that it cannot.
Status listen_error(const HostPort& address, const std::string& text) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code =
          ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
      code != 0) {
    return Status::invalid_argument("cannot listen on " + text + ": " + ::gai_strerror(code));
  }
  int error = EADDRINUSE;
  if (const int fd = ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0); fd >= 0) {
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0) error = errno;
    ::close(fd);
  }
  ::freeaddrinfo(found);
  const std::string why = "cannot listen on " + text + ": " + std::generic_category().message(error);
  if (error == EADDRINUSE)
    return Status::conflict(why + "; another server runs there: choose another --listen");
  if (error == EACCES) return Status::permission_denied(why + "; choose a port above 1023");
  return Status::io_error(why);
}

/// Limits against clients that are broken or hostile.
void harden(grpc::ServerBuilder& builder) {
  constexpr int kSecondMs = 1000;
  constexpr int kMessageBytesMax = 4 << 20;
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.SetMaxSendMessageSize(kMessageBytesMax);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 100);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60 * kSecondMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20 * kSecondMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 30 * kSecondMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600 * kSecondMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 3600 * kSecondMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 600 * kSecondMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10 * kSecondMs);
  grpc::ResourceQuota quota("nvmdb");
  quota.Resize(512ULL << 20U);
  quota.SetMaxThreads(64);
  builder.SetResourceQuota(quota);
}

void enable_plugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    // gRPC prints to stderr what is returned as a Status anyway; GRPC_VERBOSITY brings it back.
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
  });
}

}  // namespace

Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}
Listener::~Listener() {
  drain(0);
}
const std::string& Listener::address() const {
  return state_->address;
}

Result<std::unique_ptr<Listener>> Listener::start(Instance& instance, const ListenerOptions& options) {
  NVMDB_ASSIGN(const HostPort address, parse_host_port(options.listen));
  if (!is_loopback(address.host) && !options.insecure_listen) {
    return Status::permission_denied(
        "refusing to listen on " + options.listen +
        " without encryption: use a loopback address, or --insecure-listen in a network "
        "that you trust");
  }
  NVMDB_ASSIGN(PathGate gate, PathGate::open(options.ingest_roots));
  enable_plugins();

  auto state = std::make_unique<State>();
  state->hub = std::make_unique<WatchHub>(instance.catalogue());
  const auto bind = [&placement = instance.placement()](storage::ThreadRole role) {
    return [&placement, role](std::size_t index) { (void)placement.bind_this_thread(role, index); };
  };
  state->long_queries =
      std::make_unique<WorkPool>(instance.options().query_threads, 256, bind(storage::ThreadRole::Worker));
  // Where cores are short, short questions come first: bulk work is nice, in the sense of nice(1).
  const auto bind_nice = [bind_worker = bind(storage::ThreadRole::Worker)](std::size_t index) {
    bind_worker(index);
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kBulkNice));  // 0: this thread, on Linux
  };
  state->bulk = std::make_unique<WorkPool>(std::max<std::size_t>(1, instance.options().query_threads - 1), 64, bind_nice);
  state->ingests =
      std::make_unique<WorkPool>(instance.options().ingest_threads, 64, bind(storage::ThreadRole::Ingest));
  state->context =
      std::make_unique<ServiceContext>(instance, std::move(gate), *state->hub, *state->long_queries,
                                       *state->bulk, *state->ingests, options);
  state->services.push_back(make_catalog_service(*state->context));
  state->services.push_back(make_query_service(*state->context));
  state->services.push_back(make_ingest_service(*state->context));
  state->services.push_back(make_admin_service(*state->context));

  grpc::ServerBuilder builder;
  harden(builder);
  int port = 0;
  builder.AddListeningPort(options.listen, grpc::InsecureServerCredentials(), &port);
  for (const auto& service : state->services) builder.RegisterService(service.get());
  state->server = builder.BuildAndStart();
  if (state->server == nullptr || port == 0) return listen_error(address, options.listen);
  for (const char* name : {"nvmdb.v1.Catalog", "nvmdb.v1.Query", "nvmdb.v1.Ingest", "nvmdb.v1.Admin"}) {
    state->server->GetHealthCheckService()->SetServingStatus(name, true);
  }
  const bool bracket = address.host.find(':') != std::string::npos;
  state->address = (bracket ? "[" + address.host + "]" : address.host) + ":" + std::to_string(port);
  return std::unique_ptr<Listener>(new Listener(std::move(state)));
}

void Listener::drain(unsigned seconds) {
  if (state_->drained) return;
  state_->drained = true;
  state_->server->GetHealthCheckService()->SetServingStatus(false);
  state_->hub->stop_all();
  state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
}

}  // namespace nvmdb::server
