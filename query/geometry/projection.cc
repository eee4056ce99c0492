#include "query/geometry/projection.h"

#include <proj.h>

#include <vector>

#include "query/geometry/sphere.h"
#include "storage/base/check.h"
#include "storage/base/mutex.h"

namespace nvmdb::query {

/// A PROJ object in a context of its own.
struct Projection::Transformation {
  Transformation() : context(proj_context_create()) {}
  Transformation(const Transformation&) = delete;
  Transformation& operator=(const Transformation&) = delete;
  ~Transformation() {
    proj_destroy(pj);
    proj_context_destroy(context);
  }
  /// Empty when it worked, else PROJ's reason.
  [[nodiscard]] std::string define(const std::string& definition) {
    if (context == nullptr) return "PROJ gives no context";
    proj_log_level(context, PJ_LOG_NONE);
    proj_context_set_enable_network(context, 0);
    pj = proj_create(context, definition.c_str());
    if (pj != nullptr) return {};
    const char* text = proj_context_errno_string(context, proj_context_errno(context));
    return text != nullptr ? text : "unknown reason";
  }

  PJ_CONTEXT* context;
  PJ* pj = nullptr;
};

struct Projection::State {
  std::string definition;
  Mutex mutex;
  std::vector<std::unique_ptr<Transformation>> idle NVMDB_GUARDED_BY(mutex);
};

Projection::Projection(std::unique_ptr<State> state) : state_(std::move(state)) {}

Projection::~Projection() = default;

Result<std::unique_ptr<Projection>> Projection::create(const std::string& definition) {
  auto transformation = std::make_unique<Transformation>();
  if (const std::string reason = transformation->define(definition); !reason.empty()) {
    return Status::invalid_argument("projection '" + definition + "': " + reason);
  }
  auto state = std::make_unique<State>();
  state->definition = definition;
  state->idle.push_back(std::move(transformation));
  return std::unique_ptr<Projection>(new Projection(std::move(state)));
}

Projection::Lease::Lease(const Projection& projection) : projection_(projection) {
  State& state = *projection.state_;
  {
    const MutexLock lock(state.mutex);
    if (!state.idle.empty()) {
      transformation_ = std::move(state.idle.back());
      state.idle.pop_back();
    }
  }
  if (transformation_ == nullptr) {
    transformation_ = std::make_unique<Transformation>();
    const std::string reason = transformation_->define(state.definition);
    NVMDB_CHECK(reason.empty(), "PROJ refuses what it took before: " + reason);
  }
}

Projection::Lease::~Lease() {
  State& state = *projection_.state_;
  const MutexLock lock(state.mutex);
  state.idle.push_back(std::move(transformation_));
}

PlanePoint Projection::Lease::forward(const Point& position) const {
  const PJ_COORD in = proj_coord(position.longitude * kRadians, position.latitude * kRadians, 0, 0);
  const PJ_COORD out = proj_trans(transformation_->pj, PJ_FWD, in);
  return {out.xy.x, out.xy.y};
}

Point Projection::Lease::inverse(const PlanePoint& point) const {
  const PJ_COORD out = proj_trans(transformation_->pj, PJ_INV, proj_coord(point.x, point.y, 0, 0));
  return {out.lp.phi / kRadians, out.lp.lam / kRadians};
}

}  // namespace nvmdb::query
