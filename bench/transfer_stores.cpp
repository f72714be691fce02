// Each kind of store beside the plain one for web servers, from the same server and the same files:
// what its URLs, keys and signatures cost. The server reads the object's name out of each kind of
// request, and checks no signature. Under tests/servers/with.sh sshd the same files come by SFTP,
// too, by mdstream and by OpenSSH's own client: there the cost is that of the encryption.

#include "transfer_stores.hpp"

#include "support/harness.hpp"
#include "support/program.hpp"
#include "tests/support/nginx.hpp"
#include "transfer_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace bench {

void run_stores(const std::string& scratch) {
  const std::string name = "stores, 2000 x 1 MiB, to memory";
  if (!is_wanted(name)) return;
  const folder all(scratch), data(all / "data"), state(all / "nginx"), into(all / "into");
  const objects expected(data, 2000, mib);
  const support::nginx server(
      data.path(), state.path(),
      {.lines = "rewrite ^/(?:account|storage|n|datasets|api)/.*/(object-[0-9]+)$ /bucket/$1;\n"});
  const std::string key = all / "key.pem";
  run_program({"sh", "-c", "openssl genrsa -out '" + key + "' 2048 2>/dev/null"});

  std::vector<contender> turns;
  const auto add = [&](const std::string& who, const std::string& place,
                       std::vector<std::string> environment) {
    const std::string urls = all / who;
    write_lines(urls, expected.names, [&](const std::string& each) { return place + each; });
    environment.insert(environment.begin(), "env");
    for (const std::string& word :
         {std::string(BENCH_MDSTREAM), std::string("copy"), std::string("--list"), urls,
          into.path(), std::string("--jobs"), at_once}) {
      environment.push_back(word);
    }
    turns.push_back(download(who, std::move(environment), data, into, expected));
  };
  const std::string url = server.url();
  add("http", url + "/bucket/", {});
  add("s3", "s3://bucket/",
      {"S3_ENDPOINT_URL=" + url, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=key",
       "AWS_SECRET_ACCESS_KEY=secret"});
  add("azure", "azure://bucket/",
      {"AZURE_STORAGE_CONNECTION_STRING=AccountName=account;AccountKey=c2VjcmV0;BlobEndpoint=" +
       url + "/account"});
  add("gs", "gs://bucket/", {"STORAGE_EMULATOR_HOST=" + url});
  add("oci", "oci://bucket@space/",
      {"OCI_CLI_ENDPOINT=" + url, "OCI_CLI_REGION=us-ashburn-1", "OCI_CLI_TENANCY=tenancy",
       "OCI_CLI_USER=user", "OCI_CLI_FINGERPRINT=print", "OCI_CLI_KEY_FILE=" + key});
  add("dbfs", "dbfs:/Volumes/catalog/schema/volume/",
      {"DATABRICKS_HOST=" + url, "DATABRICKS_TOKEN=token"});
  add("hf", "hf://datasets/org/name/", {"HF_ENDPOINT=" + url, "HF_TOKEN=token"});
  if (const char* const sshd = std::getenv("COMPOSER_SFTP_KEY_FILE")) {
    const std::string place = std::getenv("MDSTREAM_TEST_URL");
    const std::string host = place.substr(0, place.find('/', place.find("://") + 3));
    const std::string files = std::filesystem::absolute(data / "bucket").string();
    add("sftp", host + files + '/', {});
    const std::string batch = all / "batch";
    std::ofstream(batch) << "get " << files << "/* " << into.path() << '/' << '\n';
    turns.push_back(download(
        "OpenSSH sftp",
        {"sftp", "-q", "-b", batch, "-i", sshd, "-o",
         "UserKnownHostsFile=" + std::string(std::getenv("COMPOSER_SFTP_KNOWN_HOSTS_FILE")), host},
        data, into, expected));
  }
  run_case("transfer", name, "B/s", std::move(turns), 3);
}

}  // namespace bench
