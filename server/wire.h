#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "nvmdb/v1/admin.pb.h"
#include "nvmdb/v1/catalog.pb.h"
#include "nvmdb/v1/common.pb.h"
#include "nvmdb/v1/ingest.pb.h"
#include "nvmdb/v1/query.pb.h"
#include "server/client.h"
#include "storage/base/result.h"

namespace nvmdb::server::wire {

// Between the types of the database and the messages of nvmdb.v1, both ways, for the services and for the
// remote client. Everything that reads a message takes it as hostile: bounds, counts and enumerators are
// checked. Errors: InvalidArgument (the message names the field).

/// Elements of one SlabChunk array: 1 MiB at most.
inline constexpr std::size_t kChunkBytes = 1U << 20U;
/// A unary answer with values; the usual client takes 4 MiB.
inline constexpr std::size_t kUnaryValueBytesMax = 3U << 20U;

[[nodiscard]] v1::StepProcess put_process(met::StepProcess process);
[[nodiscard]] met::StepProcess take_process(v1::StepProcess process);

void put(const engine::RunKey& from, v1::RunKey& to);
void put(const engine::Run& from, v1::Run& to);
void put(const met::Parameter& from, v1::Parameter& to);
void put(const met::Step& from, v1::Step& to);
void put(const query::Selection& from, v1::Selection& to);
void put(const query::SeriesRequest& from, v1::SeriesRequest& to);
void put(const query::SeriesAnswer& from, v1::Series& to);
void put(const query::SlabRequest& from, v1::SlabRequest& to);
void put(const query::ProfileRequest& from, v1::ProfileRequest& to);
void put(const query::SectionRequest& from, v1::SectionRequest& to);
void put(const query::CurtainAnswer& from, v1::Curtain& to);
void put(const ModelRow& from, v1::Model& to);
void put(const ParameterRow& from, v1::ParameterSummary& to);
void put(const StepRow& from, v1::StepSummary& to);
void put(const GridRow& from, v1::Grid& to);
void put(const engine::Event& from, v1::Event& to);
void put(const InfoItem& from, v1::InfoItem& to);
void put(const ingest::IngestedStep& from, v1::IngestedStep& to);
void put(const ingest::IngestReport& from, v1::IngestReport& to);
/// Header of a streamed series; the values follow in chunks. `same_points`: they are not repeated.
void put_header(const query::SeriesAnswer& from, bool same_points, v1::PointsHeader& to);
/// Header of a streamed slab; the arrays follow in chunks.
void put_header(const query::SlabAnswer& from, v1::SlabHeader& to);

[[nodiscard]] engine::RunKey take(const v1::RunKey& from);
[[nodiscard]] engine::Run take(const v1::Run& from);
[[nodiscard]] met::Parameter take(const v1::Parameter& from);
[[nodiscard]] met::Step take(const v1::Step& from);
[[nodiscard]] ModelRow take(const v1::Model& from);
[[nodiscard]] ParameterRow take(const v1::ParameterSummary& from);
[[nodiscard]] StepRow take(const v1::StepSummary& from);
[[nodiscard]] GridRow take(const v1::Grid& from);
[[nodiscard]] engine::Event take(const v1::Event& from);
[[nodiscard]] InfoItem take(const v1::InfoItem& from);
[[nodiscard]] ingest::IngestedStep take(const v1::IngestedStep& from);
[[nodiscard]] ingest::IngestReport take(const v1::IngestReport& from);
[[nodiscard]] Result<query::Selection> take_selection(const v1::Selection& from);
/// Several selections at the same points: what to ask of each is `common` with its selection. At most 64 selections.
struct SeriesQuestions {
  query::SeriesRequest common;
  std::vector<query::Selection> selections;
};
[[nodiscard]] Result<SeriesQuestions> take_series_questions(const v1::SeriesRequest& from);
[[nodiscard]] Result<query::SlabRequest> take_slab_request(const v1::SlabRequest& from);
[[nodiscard]] Result<query::ProfileRequest> take_profile_request(const v1::ProfileRequest& from);
[[nodiscard]] Result<query::SectionRequest> take_section_request(const v1::SectionRequest& from);
[[nodiscard]] Result<query::CurtainAnswer> take_curtain(const v1::Curtain& from);
/// `asked` are the points of the request: the answer does not repeat them.
[[nodiscard]] Result<query::SeriesAnswer> take_series(const v1::Series& from,
                                                      const std::vector<query::Point>& asked);
/// An answer without values, which the caller fills from the chunks. `before`: the points of the series before.
[[nodiscard]] Result<query::SeriesAnswer> take_header(const v1::PointsHeader& from,
                                                      const std::vector<query::Point>& asked,
                                                      const std::vector<query::LocatedPoint>& before);
/// An answer with empty arrays; the caller fills them from the chunks.
[[nodiscard]] Result<query::SlabAnswer> take_header(const v1::SlabHeader& from);

}  // namespace nvmdb::server::wire
