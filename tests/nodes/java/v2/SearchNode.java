import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/** One OpenSearch 2.x node. Arguments: home folder, process id of the owner, then name=class for each module and plugin. */
public final class SearchNode extends Node {
    private SearchNode(Environment environment, List<Class<? extends Plugin>> plugins) {
        super(environment, plugins, true);
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        List<Class<? extends Plugin>> plugins = new ArrayList<>();
        for (int i = 2; i < arguments.length; i++) {
            String className = arguments[i].substring(arguments[i].indexOf('=') + 1);
            plugins.add(Class.forName(className).asSubclass(Plugin.class)); // 2.x shows plugins by class name
        }
        NodeProcess.run(new SearchNode(NodeProcess.environment(home), plugins), home, Long.parseLong(arguments[1]));
    }
}
