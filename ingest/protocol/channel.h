#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ingest/protocol/message.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::protocol {

/// A descriptor that closes itself.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int release();

 private:
  int fd_ = -1;
};

/// One end of the SOCK_SEQPACKET pair between server and worker.
/// Threads: one at a time.
class Channel {
 public:
  explicit Channel(FileDescriptor socket);

  /// A pair; the second end is for the worker and is not close-on-exec. Errors: IoError.
  [[nodiscard]] static Result<std::pair<FileDescriptor, FileDescriptor>> make_pair();

  /// Sends a packet, and a descriptor when `fd` is not negative. With `wait` false a full socket is an error.
  /// Errors: IoError (the other end is gone, or full).
  [[nodiscard]] Status send(ByteSpan packet, bool wait, int fd = -1);

  /// A packet: valid until the next call.
  struct Packet {
    ByteSpan bytes;
    FileDescriptor descriptor;
  };
  /// Waits for the next packet, forever when `timeout_ms` is negative. A descriptor sent with it is taken
  /// only when `accept_descriptor`; else the kernel drops it. Errors: NotFound (the other end is gone),
  /// DeadlineExceeded, Corruption (packet too long), IoError.
  [[nodiscard]] Result<Packet> receive(int timeout_ms, bool accept_descriptor);

  /// True when receive() would not wait: a packet is there, or the other end is gone.
  [[nodiscard]] bool has_packet() const;

  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace nvmdb::ingest::protocol
