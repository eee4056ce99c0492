# One place for compiler flags, so that every target has the same warnings and hardening.

add_library(nvmdb_warnings INTERFACE)
add_library(nvmdb::warnings ALIAS nvmdb_warnings)
target_compile_options(nvmdb_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # GCC 12 reports std::string operator+ and vector::insert wrongly when it inlines much (GCC bugs 105651, 105329).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>
  $<$<BOOL:${NVMDB_WERROR}>:-Werror>)

add_library(nvmdb_flags INTERFACE)
target_include_directories(nvmdb_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(nvmdb_flags INTERFACE
  -march=x86-64-v3 -ffp-contract=off -fno-omit-frame-pointer -fstack-protector-strong -fcf-protection)
target_compile_definitions(nvmdb_flags INTERFACE
  $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2> _GLIBCXX_ASSERTIONS)
if(NVMDB_FAIL_POINTS)
  target_compile_definitions(nvmdb_flags INTERFACE NVMDB_FAIL_POINTS)
endif()
target_link_options(nvmdb_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
if(NVMDB_SANITIZE STREQUAL "address")
  target_compile_options(nvmdb_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  target_link_options(nvmdb_flags INTERFACE -fsanitize=address,undefined)
elseif(NVMDB_SANITIZE STREQUAL "thread")
  # GCC's TSan cannot model atomic_thread_fence; the code under it uses ordered atomics instead.
  target_compile_options(nvmdb_flags INTERFACE -fsanitize=thread -Wno-tsan)
  target_link_options(nvmdb_flags INTERFACE -fsanitize=thread)
elseif(NOT NVMDB_SANITIZE STREQUAL "")
  message(FATAL_ERROR "NVMDB_SANITIZE is '${NVMDB_SANITIZE}'; expected empty, address or thread")
endif()

find_program(NVMDB_CCACHE ccache)
if(NVMDB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${NVMDB_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${NVMDB_CCACHE})
endif()
find_program(NVMDB_MOLD mold)
if(NVMDB_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# nvmdb_library(NAME SOURCES ... HEADERS ... LINK ...): one static library per folder, alias nvmdb::NAME.
# Each header must compile alone (target nvmdb_NAME_verify_interface_header_sets).
function(nvmdb_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LINK;PRIVATE" ${ARGN})
  add_library(nvmdb_${name} STATIC ${ARG_SOURCES})
  add_library(nvmdb::${name} ALIAS nvmdb_${name})
  target_sources(nvmdb_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_link_libraries(nvmdb_${name} PUBLIC nvmdb_flags ${ARG_LINK} PRIVATE nvmdb_warnings ${ARG_PRIVATE})
endfunction()

# What scripts/sanitize builds: the tests with the label sanitize.
add_custom_target(sanitize_tests)

# nvmdb_test(NAME SOURCES ... LINK ... [LABELS ...] [TIMEOUT s]): a GoogleTest program, one ctest entry.
function(nvmdb_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} nvmdb_warnings GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    NVMDB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" NVMDB_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  if("sanitize" IN_LIST ARG_LABELS)
    add_dependencies(sanitize_tests ${name})
  endif()
endfunction()
