__attribute__((visibility("default"))) const char* plugin(void) {
  return "the plugin";
}
