#include "server/paging.h"

#include <algorithm>
#include <charconv>

namespace nvmdb::server {
namespace {

constexpr std::size_t kPageSizeDefault = 1000;
constexpr std::size_t kPageSizeMax = 10'000;

}  // namespace

Result<Page> page_of(std::size_t count, std::int32_t page_size, const std::string& page_token) {
  if (page_size < 0) {
    return Status::invalid_argument("page_size is " + std::to_string(page_size) + "; expected 0 or more");
  }
  Page page;
  if (!page_token.empty()) {
    const char* end = page_token.data() + page_token.size();
    const auto [stop, error] = std::from_chars(page_token.data(), end, page.first);
    if (error != std::errc{} || stop != end) {
      return Status::invalid_argument("page_token was not given out by this server; start without one");
    }
  }
  const std::size_t size =
      page_size == 0 ? kPageSizeDefault : std::min(kPageSizeMax, static_cast<std::size_t>(page_size));
  page.first = std::min(page.first, count);
  page.last = page.first + std::min(size, count - page.first);
  if (page.last < count) page.next_token = std::to_string(page.last);
  return page;
}

}  // namespace nvmdb::server
