#include "server/wire.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace nvmdb::server::wire {
namespace {

query::Selection full_selection() {
  query::Selection selection;
  selection.model = "wrf";
  selection.domain = "d01";
  selection.run = 1705276800;
  selection.version = "0001";
  selection.member = 0;
  selection.parameter = "T2";
  selection.level_type = "soil";
  selection.level = 0.0;
  selection.level_bottom = 0.1;
  selection.step = met::StepSelector{false, true, -3600, 21600};
  selection.valid_time = 1705298400;
  return selection;
}

TEST(WireSelection, KeepsEveryPart) {
  v1::Selection message;
  put(full_selection(), message);
  const auto back = take_selection(message);
  ASSERT_TRUE(back.is_ok());
  EXPECT_EQ(back->model, "wrf");
  EXPECT_EQ(back->domain, "d01");
  EXPECT_EQ(back->run, 1705276800);
  EXPECT_EQ(back->version, "0001");
  EXPECT_EQ(back->member, 0U);
  EXPECT_EQ(back->parameter, "T2");
  EXPECT_EQ(back->level_type, "soil");
  EXPECT_EQ(back->level, 0.0);
  EXPECT_EQ(back->level_bottom, 0.1);
  ASSERT_TRUE(back->step.has_value());
  EXPECT_TRUE(back->step->interval);
  EXPECT_EQ(back->step->start_seconds, -3600);
  EXPECT_EQ(back->step->end_seconds, 21600);
  EXPECT_EQ(back->valid_time, 1705298400);
}

TEST(WireSelection, KeepsWhatIsLeftOpen) {
  v1::Selection message;
  put(query::Selection(), message);
  const auto back = take_selection(message);
  ASSERT_TRUE(back.is_ok());
  EXPECT_FALSE(back->run.has_value());
  EXPECT_FALSE(back->member.has_value());
  EXPECT_FALSE(back->level.has_value());
  EXPECT_FALSE(back->step.has_value());
  EXPECT_FALSE(back->valid_time.has_value());
}

TEST(WireSelection, RefusesHostileParts) {
  v1::Selection message;
  message.set_parameter(std::string(1000, 'x'));
  EXPECT_EQ(take_selection(message).status().code(), Code::InvalidArgument);
  message.set_parameter("T2");
  message.set_level(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(take_selection(message).status().code(), Code::InvalidArgument);
}

TEST(WireSeries, RefusesHostileRequests) {
  v1::SeriesRequest request;
  EXPECT_EQ(take_series_questions(request).status().code(), Code::InvalidArgument);
  request.add_selections();
  EXPECT_EQ(take_series_questions(request).status().code(), Code::InvalidArgument);
  request.add_latitudes(1);
  EXPECT_EQ(take_series_questions(request).status().code(), Code::InvalidArgument);
  request.add_longitudes(2);
  EXPECT_TRUE(take_series_questions(request).is_ok());
  request.set_interpolation(static_cast<v1::Interpolation>(77));
  EXPECT_EQ(take_series_questions(request).status().code(), Code::InvalidArgument);
  request.set_interpolation(v1::INTERPOLATION_BILINEAR);
  for (int i = 0; i < 64; ++i) request.add_selections();
  EXPECT_EQ(take_series_questions(request).status().code(), Code::InvalidArgument);
}

query::SeriesAnswer answer_of(std::vector<met::Step> steps) {
  query::SeriesAnswer answer;
  answer.provenance.run.key = {"wrf", "d01", 1705276800, ""};
  answer.provenance.parameter.short_name = "T2";
  answer.provenance.units = "K";
  answer.steps = std::move(steps);
  answer.points = {{{1, 2}, {1.5, 2.5}, 7, 100}, {{3, 4}, {3.5, 4.5}, 9, 200}};
  for (std::size_t i = 0; i < answer.steps.size() * 2; ++i)
    answer.values.push_back(static_cast<float>(i) + 0.1F);
  return answer;
}

TEST(WireSeries, KeepsStepsPointsAndValues) {
  const std::vector<std::vector<met::Step>> cases = {
      {met::Step::instant(0), met::Step::instant(3600)},
      {met::Step::instant(-3600), met::Step::instant(0), met::Step::instant(7200)},
      {{0, 3600, met::StepProcess::Accumulation}, {0, 7200, met::StepProcess::Accumulation}}};
  for (const auto& steps : cases) {
    const query::SeriesAnswer answer = answer_of(steps);
    v1::Series message;
    put(answer, message);
    const auto back = take_series(message, {{1, 2}, {3, 4}});
    ASSERT_TRUE(back.is_ok()) << back.status().to_string();
    EXPECT_EQ(back->steps, answer.steps);
    EXPECT_EQ(back->values, answer.values);
    EXPECT_EQ(back->points[1].grid.latitude, 3.5);
    EXPECT_EQ(back->points[1].asked.longitude, 4);
    EXPECT_EQ(back->points[1].index, 9U);
    EXPECT_EQ(back->provenance.run.key, answer.provenance.run.key);
    EXPECT_EQ(back->provenance.units, "K");
  }
}

TEST(WirePoints, HeadersKeepStepsAndPoints) {
  const query::SeriesAnswer answer = answer_of({met::Step::instant(0), met::Step::instant(3600)});
  const std::vector<query::Point> asked = {{1, 2}, {3, 4}};
  v1::PointsHeader message;
  put_header(answer, false, message);
  EXPECT_TRUE(message.series().values().empty());
  const auto first = take_header(message, asked, {});
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_EQ(first->steps, answer.steps);
  EXPECT_EQ(first->points, answer.points);
  message.Clear();
  put_header(answer, true, message);
  EXPECT_EQ(message.series().points().grid_latitudes_size(), 0);
  EXPECT_EQ(take_header(message, asked, first->points)->points, answer.points);
  EXPECT_EQ(take_header(message, asked, {}).status().code(), Code::Corruption);
  message.mutable_series()->mutable_regular_steps()->set_count(4'000'000'000);
  EXPECT_EQ(take_header(message, asked, first->points).status().code(), Code::Corruption);
}

TEST(WireSeries, PacksValuesAsLittleEndianFloats) {
  query::SeriesAnswer answer = answer_of({met::Step::instant(0)});
  answer.values = {1.0F, -2.0F};
  v1::Series message;
  put(answer, message);
  EXPECT_EQ(message.encoding(), v1::VALUE_ENCODING_FLOAT32_LE);
  EXPECT_EQ(message.values(), std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8));  // IEEE 754
}

TEST(WireSeries, DoesNotTrustTheServer) {
  v1::Series message;
  put(answer_of({met::Step::instant(0)}), message);
  v1::Series damaged = message;
  damaged.mutable_values()->pop_back();
  EXPECT_EQ(take_series(damaged, {{1, 2}, {3, 4}}).status().code(), Code::Corruption);
  EXPECT_EQ(take_series(message, {{1, 2}}).status().code(), Code::Corruption);
  damaged = message;
  damaged.mutable_regular_steps()->set_count(4'000'000'000);
  EXPECT_EQ(take_series(damaged, {{1, 2}, {3, 4}}).status().code(), Code::Corruption);
  damaged = message;
  damaged.mutable_step_columns()->add_end_seconds(0);
  EXPECT_EQ(take_series(damaged, {{1, 2}, {3, 4}}).status().code(), Code::Corruption);
  v1::SlabHeader header;
  header.set_encoding(v1::VALUE_ENCODING_FLOAT32_LE);
  header.set_rows(1ULL << 31U);
  header.set_columns(1ULL << 31U);
  EXPECT_EQ(take_header(header).status().code(), Code::Corruption);
}

query::CurtainAnswer small_curtain() {
  query::CurtainAnswer answer;
  answer.provenance.run.key.model = "wrf";
  answer.provenance.level_type = "soil";
  answer.step = met::Step::instant(3600);
  answer.vertical = query::Vertical::Stored;
  answer.points = {{{30, 100}, {30.1, 100.2}, 7, 12.5}, {{31, 101}, {31.1, 101.2}, 8, 13.5}};
  answer.distances_m = {0, 1000};
  answer.levels = {0, 0.1, 0.4};
  answer.bottoms = {0.1, 0.4, 1};
  answer.values = {1, 2, 3, 4, std::numeric_limits<float>::quiet_NaN(), 6};
  return answer;
}

TEST(WireCurtain, KeepsEveryPart) {
  v1::Curtain message;
  const query::CurtainAnswer from = small_curtain();
  put(from, message);
  const auto back = take_curtain(message);
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(back->provenance.run.key.model, "wrf");
  EXPECT_EQ(back->step, from.step);
  EXPECT_EQ(back->points, from.points);
  EXPECT_EQ(back->distances_m, from.distances_m);
  EXPECT_EQ(back->levels, from.levels);
  EXPECT_EQ(back->bottoms, from.bottoms);
  ASSERT_EQ(back->values.size(), 6U);
  EXPECT_EQ(back->values[3], 4);
  EXPECT_TRUE(std::isnan(back->values[4]));
}

TEST(WireCurtain, DoesNotTrustTheServer) {
  const auto damaged = [](const std::function<void(v1::Curtain&)>& change) {
    v1::Curtain message;
    put(small_curtain(), message);
    change(message);
    return take_curtain(message).status().code();
  };
  EXPECT_EQ(damaged([](v1::Curtain&) {}), Code::Ok);
  EXPECT_EQ(damaged([](v1::Curtain& m) { m.mutable_values()->pop_back(); }), Code::Corruption);
  EXPECT_EQ(damaged([](v1::Curtain& m) { m.add_levels(3); }), Code::Corruption);
  EXPECT_EQ(damaged([](v1::Curtain& m) { m.add_bottoms(3); }), Code::Corruption);
  EXPECT_EQ(damaged([](v1::Curtain& m) { m.add_latitudes(3); }), Code::Corruption);
  EXPECT_EQ(damaged([](v1::Curtain& m) { m.mutable_points()->add_grid_indices(3); }), Code::Corruption);
  EXPECT_EQ(damaged([](v1::Curtain& m) { m.clear_distances_m(); }), Code::Corruption);
  EXPECT_EQ(damaged([](v1::Curtain& m) { m.set_encoding(v1::VALUE_ENCODING_UNSPECIFIED); }), Code::Corruption);
}

TEST(WireCurtain, RefusesHostileRequests) {
  query::SectionRequest from;
  from.selection = full_selection();
  from.from = {30, 100};
  from.to = {31, 101};
  from.points = 12;
  from.vertical = query::Vertical::Height;
  from.levels = {500, 1000};
  const auto damaged = [&](const std::function<void(v1::SectionRequest&)>& change) {
    v1::SectionRequest message;
    put(from, message);
    change(message);
    return take_section_request(message);
  };
  const auto back = damaged([](v1::SectionRequest&) {});
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(back->points, 12U);
  EXPECT_EQ(back->vertical, query::Vertical::Height);
  EXPECT_EQ(back->levels, from.levels);
  EXPECT_EQ(back->to.longitude, 101);
  const auto code = [&](const auto& change) { return damaged(change).status().code(); };
  EXPECT_EQ(code([](v1::SectionRequest& m) { m.set_point_count(10'001); }), Code::InvalidArgument);
  EXPECT_EQ(code([](v1::SectionRequest& m) { m.mutable_levels()->Resize(1001, 1); }), Code::InvalidArgument);
  EXPECT_EQ(code([](v1::SectionRequest& m) { m.set_from_latitude(NAN); }), Code::InvalidArgument);
  EXPECT_EQ(code([](v1::SectionRequest& m) { m.set_vertical(static_cast<v1::Vertical>(9)); }), Code::InvalidArgument);
  EXPECT_EQ(code([](v1::SectionRequest& m) { m.add_levels(INFINITY); }), Code::InvalidArgument);
}

TEST(WireRun, KeepsEveryPart) {
  engine::Run run;
  run.id = 3;
  run.key = {"ifs", "global", -3600, "0001"};
  run.significance = met::ReferenceSignificance::Analysis;
  run.state = engine::RunState::Complete;
  run.location = engine::RunLocation::Archive;
  run.format = "grib";
  run.field_count = 4;
  run.field_bytes = 5;
  run.version = 6;
  run.changed_at = 7;
  v1::Run message;
  put(run, message);
  const engine::Run back = take(message);
  EXPECT_EQ(back.id, 3U);
  EXPECT_EQ(back.key, run.key);
  EXPECT_EQ(back.significance, run.significance);
  EXPECT_EQ(back.state, run.state);
  EXPECT_EQ(back.location, run.location);
  EXPECT_EQ(back.format, "grib");
  EXPECT_EQ(back.field_count, 4U);
  EXPECT_EQ(back.field_bytes, 5U);
  EXPECT_EQ(back.version, 6U);
  EXPECT_EQ(back.changed_at, 7);
}

TEST(WireStep, NumbersProcessesAsTheProtoDoes) {
  for (int process = 0; process <= 12; ++process) {
    v1::Step message;
    put({0, 3600, static_cast<met::StepProcess>(process)}, message);
    EXPECT_EQ(message.process(), process + 1);
    EXPECT_EQ(take(message).process, static_cast<met::StepProcess>(process));
  }
  v1::Step other;
  put({0, 3600, met::StepProcess::Other}, other);
  EXPECT_EQ(take(other).process, met::StepProcess::Other);
}

TEST(WireReport, KeepsRejections) {
  ingest::IngestReport report;
  report.format = "GRIB";
  report.rejections = {{"message 2 at byte 100", Status::corruption("truncated")}};
  report.rejections_omitted = 5;
  report.nanoseconds = 3'000'000'001;
  v1::IngestReport message;
  put(report, message);
  const ingest::IngestReport back = take(message);
  ASSERT_EQ(back.rejections.size(), 1U);
  EXPECT_EQ(back.rejections[0].where, "message 2 at byte 100");
  EXPECT_EQ(back.rejections[0].why.code(), Code::Corruption);
  EXPECT_EQ(back.rejections_omitted, 5U);
  EXPECT_EQ(back.nanoseconds, 3'000'000'001U);
}

}  // namespace
}  // namespace nvmdb::server::wire
