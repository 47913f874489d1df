# find_package(ppsim) for others; see tests/consumer for its use. The program's own files are installed by cli/.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ppsim)
configure_package_config_file(cmake/ppsim-config.cmake.in ppsim-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(ppsim-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ppsim-config.cmake ${PROJECT_BINARY_DIR}/ppsim-config-version.cmake DESTINATION ${package_dir})
install(EXPORT ppsim-targets NAMESPACE ppsim:: DESTINATION ${package_dir})
install(FILES LICENSE CHANGELOG.md TYPE DOC COMPONENT plain) # a Debian package has other names for them
install(FILES README.md TYPE DOC COMPONENT program)
install(DIRECTORY docs/ TYPE DOC COMPONENT program)
