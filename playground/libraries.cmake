# What the playground's module needs of other projects: only headers, those of the distribution that it is built in. They are linked into
# a folder of their own, since beside them lie the headers of another C library.
set(PPSIM_HEADERS /usr/include CACHE PATH "Where the headers of fmt, Boost and the others are")
set(headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(header boost CLI fmt nlohmann protozero simdjson.h sqlite3.h toml++ zconf.h zlib.h)
  if(NOT EXISTS ${PPSIM_HEADERS}/${header})
    message(FATAL_ERROR "The playground's module needs ${header}; there is none in ${PPSIM_HEADERS}")
  endif()
  file(CREATE_LINK ${PPSIM_HEADERS}/${header} ${headers}/${header} SYMBOLIC)
endforeach()
foreach(library Boost::headers CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json protozero::protozero simdjson::simdjson
                SQLite3::SQLite3 tomlplusplus::tomlplusplus ZLIB::ZLIB)
  add_library(${library} INTERFACE IMPORTED)
  target_include_directories(${library} SYSTEM INTERFACE ${headers})
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
