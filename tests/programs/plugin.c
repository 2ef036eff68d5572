/* Found only along the path of the library that opens it. */
__attribute__((visibility("default"))) const char* name_of_plugin(void) {
  return "the plugin";
}
