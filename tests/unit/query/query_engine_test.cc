#include "query/query_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "engine/field_cache.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::query {
namespace {

constexpr std::int64_t kHour = 3600;

/// An engine on media in memory, with fields put by the test.
class QueryEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    engine::DatabaseOptions options;
    options.dram_bytes = 64ULL << 20U;
    options.recovery_threads = 1;
    auto opened = engine::Database::open(media_, engine::Catalogue::tables(), options);
    ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
    database_ = std::move(opened).value();
    catalogue_ = std::make_unique<engine::Catalogue>(*database_);
    store_ = std::make_unique<engine::FieldStore>(*database_, *catalogue_);
    ASSERT_TRUE(store_->recover().is_ok());
    engine_ = std::make_unique<QueryEngine>(*store_, QueryLimits{});
  }

  /// 11 x 11 points from 60N 0E to 50N 10E.
  static met::Grid grid(double first_longitude = 0) {
    met::Grid g;
    g.type = met::GridType::RegularLatLon;
    g.columns = g.rows = 11;
    g.points = 121;
    g.first_latitude = 60;
    g.last_latitude = 50;
    g.first_longitude = first_longitude;
    g.last_longitude = first_longitude + 10;
    g.column_step = g.row_step = 1;
    return g;
  }

  struct Put {
    met::UnixSeconds run = 0;
    met::Step step;
    std::string parameter = "t";
    std::string units = "K";
    met::Level level = {"surface", 0, 0};
    met::Grid grid = QueryEngineTest::grid();
    std::function<float(std::uint64_t)> value = [](std::uint64_t i) { return static_cast<float>(i); };
  };
  static Put put_at(met::UnixSeconds run, int hour, float base = 0) {
    Put put;
    put.run = run;
    put.step = met::Step::instant(hour * kHour);
    put.value = [base](std::uint64_t i) { return base + static_cast<float>(i); };
    return put;
  }

  engine::RunId store(const Put& put) {
    engine::RunDescription description;
    description.key = {"model", "", put.run, ""};
    description.format = "grib";
    auto writer = store_->write(description);
    EXPECT_TRUE(writer.is_ok()) << writer.status().to_string();
    engine::FieldHeader header;
    header.parameter.short_name = put.parameter;
    header.parameter.units = put.units;
    header.parameter.origin = "grib";
    header.level = put.level;
    header.step = put.step;
    header.points = put.grid.points;
    const auto id = (*writer)->grid(put.grid);
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    header.grid = *id;
    std::vector<float> values(put.grid.points);
    for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = put.value(i);
    const Status begun = (*writer)->begin_field(header);
    EXPECT_TRUE(begun.is_ok()) << begun.to_string();
    EXPECT_TRUE((*writer)->write(0, std::as_bytes(std::span(values))).is_ok());
    EXPECT_TRUE((*writer)->end_field({}).is_ok());
    const auto ack = (*writer)->commit_step(put.step.end_seconds);
    EXPECT_TRUE(ack.is_ok()) << ack.status().to_string();
    return (*writer)->run();
  }

  static SeriesRequest series_at(double latitude, double longitude) {
    SeriesRequest request;
    request.selection.parameter = "t";
    request.points.push_back({latitude, longitude});
    return request;
  }

  /// Changes a byte of a stored field of `t`, where no test looks.
  void damage(engine::RunId run, std::size_t step) {
    const engine::ReadView view = store_->view().value();
    engine::ColumnKey key;
    key.run = run;
    key.parameter = catalogue_->parameters_named("t").value().front();
    key.level_type = catalogue_->find_level_type("surface").value();
    const storage::Extent at = store_->column(view, key).value()->fields[step].field.extent;
    const std::byte flipped = media_.region(0).data()[at.offset + 40] ^ std::byte{1};
    media_.poke(at.region + 1, at.offset + 40, ByteSpan(&flipped, 1));
  }

  test::RecordedMedia media_{test::RecordedOptions{1, 64, false}};
  std::unique_ptr<engine::Database> database_;
  std::unique_ptr<engine::Catalogue> catalogue_;
  std::unique_ptr<engine::FieldStore> store_;
  std::unique_ptr<QueryEngine> engine_;
};

TEST_F(QueryEngineTest, ReadsAllStepsOfAPoint) {
  for (int hour : {6, 0, 12}) store(put_at(0, hour, static_cast<float>(hour * 1000)));
  SeriesRequest request = series_at(57.9, 3.2);
  request.points.push_back({50, 10});
  const auto answer = engine_->series(request);
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  EXPECT_EQ(answer->values, (std::vector<float>{25, 6025, 12025, 120, 6120, 12120}));
  ASSERT_EQ(answer->steps.size(), 3U);
  EXPECT_EQ(answer->steps[1], met::Step::instant(6 * kHour));
  EXPECT_EQ(answer->points[0].index, 25U);
  EXPECT_EQ(answer->points[0].grid.latitude, 58);
  EXPECT_EQ(answer->points[0].grid.longitude, 3);
  // 0.1 degrees of latitude and 0.2 of longitude at 58 north.
  EXPECT_NEAR(answer->points[0].distance_m, 111194.9 * std::hypot(0.1, 0.2 * 0.5307), 10);
  EXPECT_EQ(answer->provenance.units, "K");
  EXPECT_EQ(answer->provenance.run.key.model, "model");
  EXPECT_EQ(answer->provenance.level_type, "surface");
}

TEST_F(QueryEngineTest, InterpolatesAndKeepsMissingMissing) {
  Put put = put_at(0, 0);
  put.value = [](std::uint64_t i) { return i == 0 ? std::nanf("") : static_cast<float>(i); };
  store(put);
  SeriesRequest request = series_at(57.5, 3.5);
  request.points = {{57.5, 3.25}, {59.5, 0.5}, {60, 0.5}, {60, 1}, {60, 0}, {59, 0.5}};
  request.interpolation = Interpolation::Bilinear;
  const auto answer = engine_->series(request);
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  EXPECT_FLOAT_EQ(answer->values[0], 2.5F * 11 + 3.25F);
  EXPECT_TRUE(std::isnan(answer->values[1]));
  EXPECT_TRUE(std::isnan(answer->values[2]));
  EXPECT_EQ(answer->values[3], 1);
  EXPECT_TRUE(std::isnan(answer->values[4]));
  EXPECT_FLOAT_EQ(answer->values[5], 11.5F);
}

TEST_F(QueryEngineTest, ADamagedFieldFailsItsAnswersOnly) {
  engine::RunId run = 0;
  for (int hour : {0, 6, 12}) run = store(put_at(0, hour, static_cast<float>(hour * 1000)));
  damage(run, 1);
  SeriesRequest series = series_at(60, 0);
  SlabRequest slab;
  slab.selection.parameter = "t";
  for (int round = 0; round < 2; ++round) {
    for (int hour : {0, 12}) {
      series.selection.step = slab.selection.step = met::StepSelector{.start_seconds = hour * kHour, .end_seconds = hour * kHour};
      EXPECT_EQ(engine_->series(series)->values, (std::vector<float>{static_cast<float>(hour * 1000)}));
      EXPECT_EQ(engine_->slab(slab)->values[120], static_cast<float>(hour * 1000 + 120));
    }
    series.selection.step = slab.selection.step = met::StepSelector{.start_seconds = 6 * kHour, .end_seconds = 6 * kHour};
    for (const Status& status : {engine_->slab(slab).status(), engine_->series(series).status()}) {
      EXPECT_EQ(status.code(), Code::Corruption);
      for (const char* word : {"field t, surface 0, step 6h, run model 1970-01-01T00Z", "offset ", "ingest its file again"})
        EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    }
    series.selection.step = {};
    EXPECT_EQ(engine_->series(series).status().code(), Code::Corruption);
  }
  EXPECT_EQ(store_->integrity().damaged.size(), 1U);
  // The same values again: what is stored differs from them, so they are stored elsewhere.
  store(put_at(0, 6, 6000));
  EXPECT_EQ(engine_->series(series)->values, (std::vector<float>{0, 6000, 12000}));
  EXPECT_TRUE(store_->integrity().damaged.empty());
  EXPECT_EQ(store_->integrity().damage_found, 1U);
  // All went into one page; what came after the damage did not.
  EXPECT_EQ(database_->pages().pages_of(storage::PageKind::Field), 2U);
  EXPECT_EQ(store_->integrity().pages_quarantined, 1U);
  ASSERT_TRUE(store_->drop(run).is_ok());
  database_->reclaim();
  database_->pages().set_reserve(0);
  for (std::uint64_t free = database_->pages().free_pages(); free > 0; --free) {
    const auto next = database_->pages().allocate(1, storage::PageKind::Field, 99);
    ASSERT_TRUE(next.is_ok()) << next.status().to_string();
    EXPECT_FALSE(database_->pages().is_quarantined(next->first));
  }
}

TEST_F(QueryEngineTest, FieldsAreCheckedWhenTheyAreFirstRead) {
  engine::RunId run = 0;
  for (int hour : {0, 6, 12}) run = store(put_at(0, hour, static_cast<float>(hour * 1000)));
  const std::vector<float> expected{0, 6000, 12000};
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(engine_->series(series_at(60, 0))->values, expected);
    EXPECT_EQ(store_->integrity().fields_checked, 3U);
  }
  // Within a budget that is too small nothing is answered, but for what is known.
  SeriesRequest hurried = series_at(60, 0);
  hurried.check_bytes_max = 100;
  EXPECT_EQ(engine_->series(hurried)->values, expected);
  store(put_at(kHour, 0));
  EXPECT_EQ(engine_->series(hurried).status().code(), Code::Overloaded);
  hurried.check_bytes_max = 121 * 4;
  EXPECT_EQ(engine_->series(hurried)->values, (std::vector<float>{0}));
  ASSERT_TRUE(store_->drop(run + 1).is_ok());
  // A new step is checked, the others are known.
  store(put_at(0, 18, 18000));
  EXPECT_EQ(engine_->series(series_at(60, 0))->values, (std::vector<float>{0, 6000, 12000, 18000}));
  EXPECT_EQ(store_->integrity().fields_checked, 5U);
  // What is found later is told to those who read before, too.
  damage(run, 2);
  EXPECT_TRUE(engine_->series(series_at(60, 0)).is_ok());
  {
    const engine::ReadView view = store_->view().value();
    engine::ColumnKey key;
    key.run = run;
    key.parameter = catalogue_->parameters_named("t").value().front();
    key.level_type = catalogue_->find_level_type("surface").value();
    EXPECT_EQ(store_->verify(view, store_->column(view, key).value()->fields[2]).code(), Code::Corruption);
  }
  EXPECT_EQ(engine_->series(series_at(60, 0)).status().code(), Code::Corruption);
  ASSERT_TRUE(store_->drop(run).is_ok());
  EXPECT_TRUE(store_->integrity().damaged.empty());
}

TEST_F(QueryEngineTest, AShortQuestionPreparesNoGrid) {
  store(put_at(0, 0));
  SeriesRequest request = series_at(60, 0);
  request.only_short = true;
  EXPECT_EQ(engine_->series(request).status().code(), Code::Overloaded);
  EXPECT_TRUE(engine_->series(series_at(60, 0)).is_ok());
  EXPECT_TRUE(engine_->series(request).is_ok());
}

TEST_F(QueryEngineTest, SeesEachChangeAtOnce) {
  const SeriesRequest request = series_at(60, 0);
  EXPECT_EQ(engine_->series(request).status().code(), Code::NotFound);
  store(put_at(0, 0, 1));
  EXPECT_EQ(engine_->series(request)->values, (std::vector<float>{1}));
  store(put_at(0, 6, 2));
  EXPECT_EQ(engine_->series(request)->values, (std::vector<float>{1, 2}));
  store(put_at(0, 0, 3));
  EXPECT_EQ(engine_->series(request)->values, (std::vector<float>{3, 2}));
  const engine::RunId newer = store(put_at(kHour, 0, 4));
  EXPECT_EQ(engine_->series(request)->values, (std::vector<float>{4}));
  ASSERT_TRUE(store_->drop(newer).is_ok());
  EXPECT_EQ(engine_->series(request)->values, (std::vector<float>{3, 2}));
}

TEST_F(QueryEngineTest, LocatesAgainWhereTheGridChanges) {
  store(put_at(0, 0));
  Put moved = put_at(0, 6);
  moved.grid = grid(3);
  store(moved);
  const auto answer = engine_->series(series_at(60, 5));
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  EXPECT_EQ(answer->values, (std::vector<float>{5, 2}));
  // Where the grid has left the point behind, or is not there yet, the value is missing.
  for (const Interpolation interpolation : {Interpolation::Nearest, Interpolation::Bilinear}) {
    SeriesRequest request = series_at(60, 1);
    request.points.push_back({60, 12});
    request.interpolation = interpolation;
    const auto left = engine_->series(request);
    ASSERT_TRUE(left.is_ok()) << left.status().to_string();
    EXPECT_EQ(left->values[0], 1);
    EXPECT_TRUE(std::isnan(left->values[1]));
    EXPECT_TRUE(std::isnan(left->values[2]));
    EXPECT_EQ(left->values[3], 9);
    EXPECT_EQ(left->points[1].index, 9U);
    request.points.push_back({60, 20});
    const auto never = engine_->series(request);
    EXPECT_EQ(never.status().code(), Code::InvalidArgument);
    EXPECT_NE(never.status().message().find("60,20"), std::string::npos) << never.status().message();
  }
}

TEST_F(QueryEngineTest, CutsASlabAndConvertsIt) {
  store(put_at(0, 0, 273));
  SlabRequest request;
  request.selection.parameter = "t";
  request.box = Box{2, 57, 4, 58};
  request.units = "degC";
  const auto answer = engine_->slab(request);
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  EXPECT_EQ(answer->rows, 2U);
  EXPECT_EQ(answer->columns, 3U);
  EXPECT_TRUE(answer->rectilinear);
  EXPECT_EQ(answer->latitudes, (std::vector<double>{58, 57}));
  EXPECT_EQ(answer->longitudes, (std::vector<double>{2, 3, 4}));
  const std::vector<float> expected{24, 25, 26, 35, 36, 37};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(answer->values[i], expected[i] - 0.15F, 1e-4F);
  EXPECT_EQ(answer->provenance.units, "degC");
  request.units = "m";
  EXPECT_EQ(engine_->slab(request).status().code(), Code::InvalidArgument);
  request.units.clear();
  request.box = Box{20, 0, 30, 10};
  EXPECT_EQ(engine_->slab(request).status().code(), Code::NotFound);
  request.box.reset();
  EXPECT_EQ(engine_->slab(request)->values.size(), 121U);
}

TEST_F(QueryEngineTest, ClipsTheWindowOfACurvilinearGrid) {
  Put put = put_at(0, 0);
  put.grid = met::Grid{};
  put.grid.type = met::GridType::Curvilinear;
  put.grid.columns = put.grid.rows = 3;
  put.grid.points = 9;
  // A square on its corner.
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      put.grid.latitudes.push_back(static_cast<float>(row + column));
      put.grid.longitudes.push_back(static_cast<float>(column - row));
    }
  }
  store(put);
  SlabRequest request;
  request.selection.parameter = "t";
  request.box = Box{-1.5, 0.5, 1.5, 1.5};
  const auto window = engine_->slab(request);
  ASSERT_TRUE(window.is_ok()) << window.status().to_string();
  EXPECT_EQ(window->values, (std::vector<float>{0, 1, 3, 4}));
  EXPECT_EQ(window->latitudes, (std::vector<double>{0, 1, 1, 2}));
  request.clip = true;
  const auto clipped = engine_->slab(request);
  EXPECT_TRUE(std::isnan(clipped->values[0]) && std::isnan(clipped->values[3]));
  EXPECT_EQ(clipped->values[1], 1);
}

TEST_F(QueryEngineTest, GivesValuesButNoSeriesOfPointsWithoutPositions) {
  Put put = put_at(0, 0);
  put.grid = met::Grid{};
  put.grid.columns = 5;
  put.grid.rows = 1;
  put.grid.points = 5;
  put.grid.description = "vertical coordinate: has no positions";
  put.level = {"none", 0, 0};
  store(put);
  const auto series = engine_->series(series_at(0, 0));
  EXPECT_EQ(series.status().code(), Code::InvalidArgument);
  EXPECT_NE(series.status().message().find("has no positions"), std::string::npos);
  SlabRequest request;
  request.selection.parameter = "t";
  const auto slab = engine_->slab(request);
  ASSERT_TRUE(slab.is_ok()) << slab.status().to_string();
  EXPECT_EQ(slab->values, (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(slab->latitudes.empty());
  request.box = Box{0, 0, 1, 1};
  EXPECT_EQ(engine_->slab(request).status().code(), Code::InvalidArgument);
}

TEST_F(QueryEngineTest, ListsIntervalsThatEndTogether) {
  for (const std::int64_t start : {0, 11}) {
    Put put = put_at(0, 12, static_cast<float>(start));
    put.step = {start * kHour, 12 * kHour, met::StepProcess::Accumulation};
    store(put);
  }
  SlabRequest request;
  request.selection.parameter = "t";
  request.selection.step = *met::parse_step("12");
  const auto both = engine_->slab(request);
  EXPECT_EQ(both.status().code(), Code::InvalidArgument);
  EXPECT_NE(both.status().message().find("0-12h, 11-12h"), std::string::npos) << both.status().message();
  request.selection.step = *met::parse_step("11-12");
  EXPECT_EQ(engine_->slab(request)->values[0], 11);
  EXPECT_EQ(engine_->series(series_at(60, 0))->values, (std::vector<float>{0, 11}));
}

TEST_F(QueryEngineTest, PassesOverANewerRunThatDoesNotHoldThePlace) {
  store(put_at(0, 0, 1000));
  Put newer = put_at(6 * kHour, 0, 2000);
  newer.grid = grid(40);
  store(newer);
  EXPECT_EQ(engine_->series(series_at(60, 40))->values, (std::vector<float>{2000}));
  const auto older = engine_->series(series_at(60, 0));
  ASSERT_TRUE(older.is_ok()) << older.status().to_string();
  EXPECT_EQ(older->values, (std::vector<float>{1000}));
  SlabRequest slab;
  slab.selection.parameter = "t";
  slab.box = Box{0, 59, 1, 60};
  const auto map = engine_->slab(slab);
  ASSERT_TRUE(map.is_ok()) << map.status().to_string();
  EXPECT_EQ(map->values, (std::vector<float>{1000, 1001, 1011, 1012}));
  // A run that is named is not passed over; the error says which run was asked.
  SeriesRequest named = series_at(60, 0);
  named.selection.run = 6 * kHour;
  const auto refused = engine_->series(named);
  EXPECT_EQ(refused.status().code(), Code::InvalidArgument);
  EXPECT_NE(refused.status().message().find("1970-01-01T06Z"), std::string::npos) << refused.status().message();
  EXPECT_NE(refused.status().message().find("--run"), std::string::npos) << refused.status().message();
  const auto nowhere = engine_->series(series_at(60, 100));
  EXPECT_EQ(nowhere.status().code(), Code::InvalidArgument);
  EXPECT_NE(nowhere.status().message().find("no older one"), std::string::npos) << nowhere.status().message();
}

TEST_F(QueryEngineTest, GivesTheSlabsOfAllSteps) {
  for (int hour : {6, 0, 12}) store(put_at(0, hour, static_cast<float>(hour * 1000)));
  Put interval = put_at(0, 12, 500);
  interval.step = {6 * kHour, 12 * kHour, met::StepProcess::Accumulation};
  store(interval);
  SlabRequest request;
  request.selection.parameter = "t";
  request.selection.step = *met::parse_step("all");
  request.box = Box{0, 60, 0, 60};
  const auto slabs = engine_->slabs(request);
  ASSERT_TRUE(slabs.is_ok()) << slabs.status().to_string();
  std::vector<float> values;
  for (const SlabRequest& one : *slabs) values.push_back(engine_->slab(one)->values[0]);
  // In the order of a series: by end, then start.
  EXPECT_EQ(values, (std::vector<float>{0, 6000, 500, 12000}));
  request.selection.step = *met::parse_step("6");
  EXPECT_EQ(engine_->slabs(request)->size(), 1U);
}

TEST_F(QueryEngineTest, ReadsManyPointsAsItReadsOne) {
  for (int hour = 0; hour < 40; ++hour) store(put_at(0, hour, static_cast<float>(hour * 1000)));
  SeriesRequest many = series_at(60, 0);
  many.points.clear();
  for (int i = 0; i < 500; ++i) {
    const int at = i * 37 % 121;  // in no order, and each several times
    many.points.push_back({60.0 - at / 11, static_cast<double>(at % 11)});
  }
  const auto answer = engine_->series(many);
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  ASSERT_EQ(answer->values.size(), 500U * 40U);
  for (std::size_t i = 0; i < 500; ++i) {
    for (std::size_t hour = 0; hour < 40; ++hour)
      ASSERT_EQ(answer->values[i * 40 + hour], static_cast<float>(hour * 1000 + i * 37 % 121));
  }
  many.values_max = 19'999;
  EXPECT_EQ(engine_->series(many).status().code(), Code::OutOfSpace);
}

TEST_F(QueryEngineTest, StopsWhenItIsCancelled) {
  store(put_at(0, 0));
  Cancellation cancellation;
  cancellation.cancel();
  SeriesRequest many = series_at(60, 0);
  many.points.resize(500, many.points[0]);
  EXPECT_EQ(engine_->series(many, &cancellation).status().code(), Code::DeadlineExceeded);
  SlabRequest slab;
  slab.selection.parameter = "t";
  EXPECT_EQ(engine_->slab(slab, &cancellation).status().code(), Code::DeadlineExceeded);
  slab.selection.step = *met::parse_step("all");
  EXPECT_EQ(engine_->slabs(slab, &cancellation).status().code(), Code::DeadlineExceeded);
}

TEST_F(QueryEngineTest, KeepsToItsLimits) {
  store(put_at(0, 0));
  QueryEngine small(*store_, QueryLimits{100, 3});
  SeriesRequest request = series_at(60, 0);
  request.points.resize(4, {60, 0});
  EXPECT_EQ(small.series(request).status().code(), Code::OutOfSpace);
  request.points.clear();
  EXPECT_EQ(small.series(request).status().code(), Code::InvalidArgument);
  SlabRequest slab;
  slab.selection.parameter = "t";
  EXPECT_EQ(small.slab(slab).status().code(), Code::OutOfSpace);
  slab.box = Box{0, 50, 10, 60};
  EXPECT_EQ(small.slab(slab).status().code(), Code::OutOfSpace);
  slab.box = Box{0, 50, 9, 59};
  EXPECT_TRUE(small.slab(slab).is_ok());
}

TEST_F(QueryEngineTest, ReadsWholeFieldsWhileTheyAreReplaced) {
  const auto constant = [](float value) {
    Put put = put_at(0, 0);
    put.value = [value](std::uint64_t) { return value; };
    return put;
  };
  store(constant(0));
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    SlabRequest request;
    request.selection.parameter = "t";
    float last = 0;
    while (!stop) {
      const auto answer = engine_->slab(request);
      ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
      for (const float value : answer->values) ASSERT_EQ(value, answer->values[0]);
      ASSERT_GE(answer->values[0], last);
      last = answer->values[0];
    }
  });
  for (int i = 1; i <= 30; ++i) store(constant(static_cast<float>(i)));
  stop = true;
  reader.join();
}

/// A column that is asked often answers from its copy: the same, also for parts of it, between points and outside of some;
/// a step that is replaced is seen at once; memory that others need is given up.
TEST_F(QueryEngineTest, AHotColumnAnswersAsTheFieldsDo) {
  for (int hour = 0; hour < 40; ++hour) store(put_at(0, hour, static_cast<float>(hour * 1000)));
  SeriesRequest nearest = series_at(57.9, 3.2);
  nearest.points.push_back({50, 10});
  nearest.points.push_back({60, 0});
  SeriesRequest between = nearest;
  between.interpolation = Interpolation::Bilinear;
  SeriesRequest one = nearest;
  one.selection.step = met::StepSelector{false, false, 7 * kHour, 7 * kHour};
  std::vector<SeriesAnswer> cold;
  for (const SeriesRequest& request : {nearest, between, one}) cold.push_back(*engine_->series(request));
  EXPECT_EQ(cold[0].values[3], 3000 + 2 * 11 + 3);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(engine_->series(nearest).is_ok());
  store_->cache().settle();
  ASSERT_EQ(store_->cache_statistics().columns, 1U);
  std::size_t at = 0;
  for (const SeriesRequest& request : {nearest, between, one}) {
    const auto hot = engine_->series(request);
    ASSERT_TRUE(hot.is_ok()) << hot.status().to_string();
    EXPECT_EQ(hot->values, cold[at].values);
    EXPECT_EQ(hot->steps.size(), cold[at].steps.size());
    ++at;
  }
  store(put_at(0, 3, 77));
  EXPECT_EQ(engine_->series(nearest)->values[3], 77 + 2 * 11 + 3);

  for (int i = 0; i < 40; ++i) ASSERT_TRUE(engine_->series(nearest).is_ok());
  store_->cache().settle();
  ASSERT_EQ(store_->cache_statistics().columns, 1U);
  storage::HotBudget& budget = database_->hot_budget();
  const std::uint64_t rest = (budget.bytes_max() - budget.bytes_used()) / storage::kPageBytes;
  ASSERT_TRUE(budget.take_pages(rest + 1)) << "the copy did not give way";
  EXPECT_EQ(store_->cache_statistics().columns, 0U);
  EXPECT_EQ(engine_->series(nearest)->values[3], 77 + 2 * 11 + 3);
  budget.give_pages(rest + 1);
}

}  // namespace
}  // namespace nvmdb::query
