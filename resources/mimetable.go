package resources

import (
	"strings"
	"sync"
)

// typeOfExt has the media type for each extension, in lower case without its dot. It is made for the first file that is
// described: a server that was not asked for one has no use for it.
var typeOfExt = sync.OnceValue(func() map[string]string {
	return table(map[string]string{
		"text/markdown":                  "md markdown mdown mkd",
		"text/mdx":                       "mdx",
		"text/html":                      "html htm xhtml",
		"text/css":                       "css",
		"text/csv":                       "csv",
		"text/calendar":                  "ics",
		"text/vcard":                     "vcf",
		"text/javascript":                "js mjs cjs",
		"text/tab-separated-values":      "tsv",
		"text/x-asciidoc":                "adoc asciidoc",
		"text/x-rst":                     "rst",
		"text/x-tex":                     "tex sty bib",
		"text/plain":                     "txt text log conf cfg ini env properties lock sum mod work diff patch gradle cmake mk ninja proto thrift",
		"text/x-go":                      "go",
		"text/x-c":                       "c h",
		"text/x-c++":                     "cc cpp cxx hh hpp hxx",
		"text/x-csharp":                  "cs",
		"text/x-java":                    "java",
		"text/x-kotlin":                  "kt kts",
		"text/x-scala":                   "scala sc",
		"text/x-python":                  "py pyi pyw",
		"text/x-ruby":                    "rb gemspec rake",
		"text/x-rust":                    "rs",
		"text/x-swift":                   "swift",
		"text/x-perl":                    "pl pm",
		"text/x-php":                     "php",
		"text/x-lua":                     "lua",
		"text/x-haskell":                 "hs",
		"text/x-erlang":                  "erl hrl",
		"text/x-elixir":                  "ex exs",
		"text/x-clojure":                 "clj cljs cljc edn",
		"text/x-r":                       "r",
		"text/x-dart":                    "dart",
		"text/x-zig":                     "zig",
		"text/x-typescript":              "ts mts cts",
		"text/x-tsx":                     "tsx",
		"text/jsx":                       "jsx",
		"text/x-vue":                     "vue",
		"text/x-svelte":                  "svelte",
		"text/x-scss":                    "scss",
		"text/x-sass":                    "sass",
		"text/x-less":                    "less",
		"text/x-shellscript":             "sh bash zsh fish",
		"text/x-powershell":              "ps1 psm1",
		"text/x-batch":                   "bat cmd",
		"text/x-nix":                     "nix",
		"text/x-hcl":                     "hcl tf tfvars",
		"text/x-graphql":                 "graphql gql",
		"text/x-assembly":                "s asm",
		"application/json":               "json webmanifest map ipynb eslintrc babelrc prettierrc",
		"application/json5":              "json5 jsonc",
		"application/jsonl":              "jsonl ndjson",
		"application/geo+json":           "geojson",
		"application/ld+json":            "jsonld",
		"application/yaml":               "yaml yml",
		"application/toml":               "toml",
		"application/xml":                "xml xsd xsl xslt plist csproj props targets",
		"application/atom+xml":           "atom",
		"application/rss+xml":            "rss",
		"application/sql":                "sql",
		"application/rtf":                "rtf",
		"application/pdf":                "pdf",
		"application/epub+zip":           "epub",
		"application/wasm":               "wasm",
		"application/zip":                "zip whl",
		"application/gzip":               "gz tgz",
		"application/x-bzip2":            "bz2",
		"application/x-xz":               "xz",
		"application/zstd":               "zst",
		"application/x-7z-compressed":    "7z",
		"application/x-tar":              "tar",
		"application/java-archive":       "jar war",
		"application/vnd.rar":            "rar",
		"application/vnd.sqlite3":        "sqlite sqlite3",
		"application/vnd.apache.parquet": "parquet",
		"application/octet-stream":       "bin exe dll so dylib o a class pyc",
		"application/msword":             "doc",
		"application/vnd.ms-excel":       "xls",
		"application/vnd.ms-powerpoint":  "ppt",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
		"application/vnd.oasis.opendocument.text":                                   "odt",
		"application/vnd.oasis.opendocument.spreadsheet":                            "ods",
		"application/vnd.oasis.opendocument.presentation":                           "odp",
		"image/png":                "png",
		"image/apng":               "apng",
		"image/jpeg":               "jpg jpeg jpe",
		"image/gif":                "gif",
		"image/webp":               "webp",
		"image/avif":               "avif",
		"image/heic":               "heic",
		"image/bmp":                "bmp",
		"image/tiff":               "tif tiff",
		"image/svg+xml":            "svg",
		"image/vnd.microsoft.icon": "ico",
		"audio/mpeg":               "mp3",
		"audio/wav":                "wav",
		"audio/flac":               "flac",
		"audio/ogg":                "ogg oga opus",
		"audio/aac":                "aac",
		"audio/mp4":                "m4a",
		"audio/midi":               "mid midi",
		"video/mp4":                "mp4 m4v",
		"video/webm":               "webm",
		"video/ogg":                "ogv",
		"video/quicktime":          "mov",
		"video/x-matroska":         "mkv",
		"video/x-msvideo":          "avi",
		"video/mpeg":               "mpg mpeg",
		"font/woff":                "woff",
		"font/woff2":               "woff2",
		"font/ttf":                 "ttf",
		"font/otf":                 "otf",
	})
})

// typeOfName has the media type for names without an extension, in lower case.
var typeOfName = sync.OnceValue(func() map[string]string {
	return table(map[string]string{
		"text/plain":        "readme license licence copying notice authors contributors changelog changes todo version codeowners",
		"text/x-makefile":   "makefile gnumakefile",
		"text/x-dockerfile": "dockerfile containerfile",
		"text/x-ruby":       "gemfile rakefile vagrantfile podfile brewfile",
	})
})

func table(lists map[string]string) map[string]string {
	out := make(map[string]string)
	for mime, names := range lists {
		for _, name := range strings.Fields(names) {
			out[name] = mime
		}
	}
	return out
}
