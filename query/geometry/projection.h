#pragma once

#include <memory>
#include <string>

#include "query/request.h"
#include "storage/base/result.h"

namespace nvmdb::query {

struct PlanePoint {
  double x = 0;
  double y = 0;
};

/// A map projection between positions and a plane in metres, by PROJ.
/// Threads: any number; each call borrows one of the PROJ objects kept (a PROJ object serves one thread at a
/// time).
class Projection {
 public:
  /// `definition` is a PROJ operation such as "+proj=lcc +lat_1=...".
  /// Errors: InvalidArgument (PROJ's reason).
  [[nodiscard]] static Result<std::unique_ptr<Projection>> create(const std::string& definition);
  ~Projection();
  Projection(const Projection&) = delete;
  Projection& operator=(const Projection&) = delete;

  struct Transformation;
  /// A PROJ object for the calling thread, for many points in a row.
  class Lease {
   public:
    explicit Lease(const Projection& projection);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    /// Not finite where the projection has no image of the position.
    [[nodiscard]] PlanePoint forward(const Point& position) const;
    [[nodiscard]] Point inverse(const PlanePoint& point) const;

   private:
    const Projection& projection_;
    std::unique_ptr<Transformation> transformation_;
  };

 private:
  struct State;
  explicit Projection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::query
