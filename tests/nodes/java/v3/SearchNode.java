import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.opensearch.Version;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/** One OpenSearch 3.x node. Arguments: home folder, process id of the owner, then name=class for each module and plugin. */
public final class SearchNode extends Node {
    private SearchNode(Environment environment, List<PluginInfo> plugins) {
        super(environment, plugins, true);
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        List<PluginInfo> plugins = new ArrayList<>();
        for (int i = 2; i < arguments.length; i++) {
            int split = arguments[i].indexOf('=');
            plugins.add(describe(arguments[i].substring(0, split), arguments[i].substring(split + 1)));
        }
        NodeProcess.run(new SearchNode(NodeProcess.environment(home), plugins), home, Long.parseLong(arguments[1]));
    }

    private static PluginInfo describe(String name, String className) {
        String java = Integer.toString(Runtime.version().feature());
        String version = Version.CURRENT.toString();
        return new PluginInfo(name, "from the class path", version, Version.CURRENT, java, className, List.of(), false);
    }
}
