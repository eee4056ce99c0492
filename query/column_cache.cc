#include "query/column_cache.h"

#include "storage/base/bytes.h"

namespace nvmdb::query {
namespace {

constexpr std::size_t kSelectionsMax = 4096;
constexpr int kAttempts = 4;
constexpr std::uint32_t kUsesOfHot = 16;
constexpr std::uint32_t kUsesPerTouch = 256;

template <class T>
void put_optional(ByteWriter& out, const std::optional<T>& value) {
  out.put(static_cast<std::uint8_t>(value.has_value()));
  out.put(value.value_or(T{}));
}

/// Selections with the same bytes are the same.
std::string selection_bytes(const Selection& s) {
  ByteWriter out;
  for (const std::string* text : {&s.model, &s.domain, &s.version, &s.parameter, &s.level_type})
    out.put_string(*text);
  put_optional(out, s.run);
  put_optional(out, s.member);
  put_optional(out, s.level);
  put_optional(out, s.level_bottom);
  put_optional(out, s.valid_time);
  out.put(static_cast<std::uint8_t>(s.step.has_value()));
  if (s.step.has_value()) {
    out.put(static_cast<std::uint8_t>(s.step->all));
    out.put(static_cast<std::uint8_t>(s.step->interval));
    out.put(s.step->start_seconds);
    out.put(s.step->end_seconds);
  }
  const ByteSpan bytes = out.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<met::Step> steps_of(const engine::FieldColumn& column) {
  std::vector<met::Step> steps;
  steps.reserve(column.fields.size());
  for (const engine::FieldRef& ref : column.fields) steps.push_back(ref.field.key.step);
  return steps;
}

std::vector<const std::byte*> plain_values(const engine::FieldColumn& column,
                                           const std::vector<std::uint32_t>& fields) {
  const engine::Field& first = column.fields[fields[0]].field;
  std::vector<const std::byte*> values;
  values.reserve(fields.size());
  for (const std::uint32_t index : fields) {
    const engine::FieldRef& ref = column.fields[index];
    const met::Encoding& encoding = ref.field.encoding;
    const bool plain = encoding.kind == met::EncodingKind::Float32 && !encoding.has_bitmap;
    if (!plain || ref.field.grid != first.grid || ref.field.points != first.points) return {};
    if (ref.extent.size() != encoding.extent_bytes(ref.field.points)) return {};
    values.push_back(ref.extent.data());
  }
  return values;
}

}  // namespace

std::shared_ptr<const ResolvedSelection> ColumnCache::look_up(const engine::ReadView& view, const std::string& key,
                                                              std::uint64_t event) {
  std::shared_ptr<const ResolvedSelection> found;
  {
    const MutexLock lock(mutex_);
    if (const auto at = known_.find(key); at != known_.end()) found = at->second;
  }
  if (found == nullptr || found->event != event || found->generation != store_.cache().generation()) return nullptr;
  const auto column = store_.column(view, found->selected.key);
  return column.is_ok() && *column == found->column ? found : nullptr;
}

std::shared_ptr<const ResolvedSelection> ColumnCache::known(const engine::ReadView& view, const Selection& selection) {
  const std::uint64_t event = store_.catalogue().change_count();
  return look_up(view, selection_bytes(selection), event);
}

Result<std::shared_ptr<const ResolvedSelection>> ColumnCache::resolve(const engine::ReadView& view,
                                                                      const Selection& selection) {
  const std::string key = selection_bytes(selection);
  for (int attempt = 1;; ++attempt) {
    // One load: what changes the catalogue says so before anybody is told that it is done.
    const std::uint64_t event = store_.catalogue().change_count();
    if (auto found = look_up(view, key, event); found != nullptr) return found;
    auto made = carry_out(view, selection, event);
    // The run may have been dropped, or a step replaced, between looking it up and reading it.
    if (!made.is_ok() && made.status().code() == Code::NotFound && attempt < kAttempts) {
      if (store_.catalogue().change_count() != event) continue;
    }
    if (!made.is_ok()) return made.status();
    const MutexLock lock(mutex_);
    if (known_.size() >= kSelectionsMax) known_.clear();
    known_[key] = *made;
    return made;
  }
}

void ColumnCache::note_series(const ResolvedSelection& known) {
  const std::uint32_t uses = known.uses.fetch_add(1, std::memory_order_relaxed) + 1;
  if (uses == kUsesOfHot || uses % kUsesPerTouch == 0) store_.cache().want(*known.column);
}

Result<std::shared_ptr<const ResolvedSelection>> ColumnCache::carry_out(const engine::ReadView& view,
                                                                        const Selection& selection,
                                                                        std::uint64_t event) {
  auto made = std::make_shared<ResolvedSelection>();
  made->event = event;
  NVMDB_ASSIGN(const auto runs, store_.catalogue().runs());
  NVMDB_ASSIGN(made->selected,
               select_column(selection, runs, [this](const engine::Run& run) { return indexes_.get(run); }));
  made->generation = store_.cache().generation();
  NVMDB_ASSIGN(made->column, store_.column(view, made->selected.key));
  // Kept and copied with each answer, which does not need them.
  made->selected.run.attributes.clear();
  made->hot = store_.cache().find(*made->column);
  const auto steps = steps_of(*made->column);
  const met::UnixSeconds reference_time = made->selected.run.key.reference_time;
  made->fields = select_steps(selection, reference_time, steps);
  if (made->fields.empty()) return no_such_step(selection, made->selected.run.key, steps);
  made->plain = plain_values(*made->column, made->fields);
  made->steps.reserve(made->fields.size());
  for (const std::uint32_t index : made->fields) made->steps.push_back(steps[index]);
  return std::shared_ptr<const ResolvedSelection>(std::move(made));
}

}  // namespace nvmdb::query
